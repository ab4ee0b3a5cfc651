#!/usr/bin/env bash
# Measures the bridge against what it stands in for; see README.md. BENCH_FRAMES, BENCH_RUNS and BENCH (one
# row by its name) are heeded.
set -euo pipefail
cd "$(dirname "$0")"
mkdir -p out/bin
echo "building the programs of the benchmark"
(cd go && go build -o ../out/bin/ ./cmd/... && GOEXPERIMENT=jsonv2 go build -o ../out/bin/gojson2 ./cmd/gojson)
exec node run.mjs
