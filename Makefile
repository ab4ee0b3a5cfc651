# Everything a newcomer needs: `make demo` and `make test`. `make help` lists the rest.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

export GOFLAGS := -buildvcs=false $(filter-out -buildvcs=false,$(GOFLAGS))

# Where the tests leave machine-readable reports; empty: nowhere.
HEP_TEST_REPORTS ?=

TOOLS := bin/nats-server bin/protoc-gen-go bin/protoc-gen-go-grpc bin/staticcheck
TS_SOURCES := $(shell find src -name '*.ts')
GO_SOURCES := $(shell find go examples gen/go -name '*.go' 2>/dev/null)
EXAMPLES := bin/go-driver bin/go-worker bin/go-pipe

.PHONY: help
help: ## Lists the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: toolchain
toolchain:
	@node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 20 || (a === 20 && b >= 19) ? 0 : 1)' 2>/dev/null \
	  || { echo "needs Node 20.19 or newer; found: $$(node --version 2>/dev/null || echo none)" >&2; exit 1; }
	@go version 2>/dev/null | grep -Eq 'go(1\.(2[6-9]|[3-9][0-9])|[2-9])' \
	  || { echo "needs Go 1.26 or newer; found: $$(go version 2>/dev/null || echo none)" >&2; exit 1; }

.PHONY: build
build: toolchain node_modules/.stamp $(TOOLS) dist/.stamp $(EXAMPLES) ## Installs and builds all, with the pinned nats-server

node_modules/.stamp: package.json package-lock.json
	@echo "installing the node packages"
	@npm ci --no-audit --no-fund --loglevel=error
	@touch $@

bin/%: tools/go.mod tools/go.sum
	@echo "building $@ (the first time takes up to a minute)"
	@cd tools && go build -o ../bin/ $$(go list -f '{{.ImportPath}}' tool | grep -E '/$*(/v[0-9]+)?$$')
	@touch $@

dist/.stamp: $(TS_SOURCES) tsconfig.json tsconfig.build.json node_modules/.stamp
	@echo "compiling the gateway"
	@npx tsc -p tsconfig.build.json
	@touch $@

bin/go-%: $(GO_SOURCES) go.mod go.sum
	@echo "building $@"
	@go build -o $@ ./examples/go-$*

.PHONY: demo
demo: build ## Runs the main job end to end on one machine, and checks it
	@node examples/demo/demo.mjs

.PHONY: test
test: build ## Runs all tests, TypeScript and Go, with a real NATS server
	@status=0; reports="$(HEP_TEST_REPORTS)"; \
	if [ -n "$$reports" ]; then \
	  mkdir -p "$$reports"; \
	  npx vitest run --reporter=default --reporter=json --outputFile.json="$$reports/vitest.json" || status=1; \
	  go test -race -json ./... > "$$reports/go.json" || { status=1; grep -h '"Action":"output"' "$$reports/go.json" | tail -200; }; \
	else \
	  npx vitest run || status=1; \
	  go test -race ./... || status=1; \
	fi; \
	exit $$status

.PHONY: kills
kills: build ## Kills and stops all parties at random; SEED=… RUNS=… choose, KEEP=1 leaves logs of violations
	@HEP_KILL_SEED="$(SEED)" HEP_KILL_RUNS="$(RUNS)" HEP_KILL_KEEP="$(KEEP)" \
	  npx vitest run test/kills/random-kills.test.ts

.PHONY: gen
gen: node_modules/.stamp $(TOOLS) ## Makes gen/ from proto/
	npx buf format -w
	npx buf generate

.PHONY: lint
lint: build ## Checks style, rooms, contract, and that gen/ is what buf makes
	npx buf lint
	npx buf format -d --exit-code
	bash tools/check-gen.sh
	bash tools/check-breaking.sh
	npx biome check .
	npx tsc --noEmit -p tsconfig.json
	npx knip
	go vet ./...
	bin/staticcheck ./...
	gofmt -l go examples | (! grep .)

.PHONY: bench
bench: build ## Measures the bridge against what it stands in for (minutes)
	bash bench/run.sh

.PHONY: clean
clean: ## Removes what was built
	rm -rf dist node_modules $(TOOLS) $(EXAMPLES) bench/out
