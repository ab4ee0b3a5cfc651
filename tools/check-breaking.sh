#!/usr/bin/env bash
# Fails if proto/ breaks its readers since the last release, or since its first commit before there is one.
set -euo pipefail
cd "$(dirname "$0")/.."
base=$(git describe --tags --abbrev=0 2>/dev/null || git log --diff-filter=A --format=%H -- proto | tail -1)
if [ -z "$base" ]; then
  echo "no earlier proto/ to compare with"
  exit 0
fi
npx buf breaking --against ".git#ref=$base"
