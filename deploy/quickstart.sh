#!/usr/bin/env bash
# From a bare Debian 12 to tokens: installs what it needs, builds, starts tokendrawd on a socket file,
# samples 24 logits rows of a real model through the client, stops the server.
set -euo pipefail
cd "$(dirname "$0")/.."

bash deploy/install_packages.sh deploy/build_packages.txt
mkdir -p build
cmake --preset release >build/quickstart.log 2>&1 ||
  { cat build/quickstart.log >&2; exit 1; }
cmake --build --preset release --target tokendrawd tokendraw

directory=$(mktemp -d)
build/release/tokendrawd --listen "unix:$directory/tokendraw.sock" &
server=$!
trap 'kill "$server" 2>/dev/null || true; wait "$server" || true; rm -rf "$directory"' EXIT

# With a deadline the client waits until the server is there.
build/release/tokendraw sample --server "unix:$directory/tokendraw.sock" \
  tests/data/smollm2_rows.safetensors --vocab tests/data/smollm2_vocab.json \
  --deadline_ms 30000 --typical_p 0.9 --xtc_probability 0.5 --xtc_threshold 0.1 --seed 42

kill -TERM "$server"
wait "$server"
trap 'rm -rf "$directory"' EXIT
