#!/usr/bin/env bash
# Makes the types from the protos and builds the example: build/examples/typescript/dist/decode.js.
# client/examples/setup.sh installs what this calls.
set -euo pipefail
cd "$(dirname "$0")/../../.."

out=build/examples/typescript
mkdir -p "$out"
cp -rp proto client/examples/typescript/{package.json,package-lock.json,tsconfig.json,src} "$out"
cd "$out"
if ! cmp -s package-lock.json node_modules/installed-lock.json; then
  npm ci --no-audit --no-fund
  cp package-lock.json node_modules/installed-lock.json
fi
npm run build
