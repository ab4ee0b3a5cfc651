#!/usr/bin/env bash
# Fails if gen/ is not what buf makes of proto/.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
npx buf generate -o "$out"
if ! diff -r "$out/gen" gen; then
  echo "gen/ is not what buf makes of proto/: run 'make gen' and commit" >&2
  exit 1
fi
