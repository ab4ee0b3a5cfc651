# The bridge with its private nats-server. Data lives in /data; the gRPC port is 4880.
FROM golang:1.26-bookworm AS tools
WORKDIR /src/tools
COPY tools/go.mod tools/go.sum ./
RUN CGO_ENABLED=0 go build -trimpath -o /out/ github.com/nats-io/nats-server/v2

FROM node:20-bookworm-slim AS build
WORKDIR /src
COPY package.json package-lock.json .npmrc ./
RUN npm ci --no-audit --no-fund
COPY tsconfig.json tsconfig.build.json ./
COPY gen/ts gen/ts
COPY src src
RUN npx tsc -p tsconfig.build.json && npm prune --omit=dev --no-audit --no-fund

FROM node:20-bookworm-slim
ENV NODE_ENV=production
WORKDIR /app
COPY --from=build /src/node_modules node_modules
COPY --from=build /src/dist dist
COPY --from=tools /out/nats-server bin/nats-server
COPY package.json package.json
COPY gen/ts gen/ts
COPY proto proto
COPY bin/hep-bridge bin/hep-bridge
RUN mkdir /data && chown 1000:1000 /data
# The image's user `node`.
USER 1000:1000
VOLUME /data
EXPOSE 4880
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=10s --start-period=30s \
  CMD ["node", "/app/bin/hep-bridge", "runs", "--limit", "1", "--server", "127.0.0.1:4880"]
ENTRYPOINT ["node", "/app/bin/hep-bridge"]
CMD ["serve", "--listen", "0.0.0.0:4880", "--data-dir", "/data"]
