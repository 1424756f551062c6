#!/usr/bin/env bash
# Times every chain beside its floor and beside llama.cpp's samplers, on rows of several kinds and
# sizes. Leaves build/bench/chains.jsonl (also on stdout), chains.txt with the targets, and
# chains.png. x86-64 only, as the library of llama.cpp is.
# Usage: tests/bench/run.sh [--quick]
set -euo pipefail
cd "$(dirname "$0")/../.."

readonly PEER_VERSION=3.22.1 # of the npm package that carries llama.cpp; peer.h is for its llama.h
readonly OUT=build/bench

bash deploy/install_packages.sh deploy/build_packages.txt tests/bench/packages.txt >&2
# Debian's npm does not install beside a Node.js from elsewhere, which has its own.
command -v npm >/dev/null || bash deploy/install_packages.sh <(echo npm) >&2

mkdir -p "$OUT"
peer_dir=$OUT/peer-$PEER_VERSION
if [ ! -d "$peer_dir" ]; then
  npm pack --silent --pack-destination "$OUT" "@node-llama-cpp/linux-x64@$PEER_VERSION" >&2
  rm -rf "$peer_dir.part"
  mkdir "$peer_dir.part"
  tar -xzf "$OUT/node-llama-cpp-linux-x64-$PEER_VERSION.tgz" -C "$peer_dir.part"
  mv "$peer_dir.part" "$peer_dir"
fi
peer=$(find "$peer_dir" -name 'libllama*.so' ! -name 'libllama-common*')

if ! cmp -s tests/bench/requirements.txt "$OUT/venv/requirements.txt"; then
  python3 -m venv --clear "$OUT/venv"
  "$OUT/venv/bin/pip" install --quiet --disable-pip-version-check -r tests/bench/requirements.txt
  cp tests/bench/requirements.txt "$OUT/venv/requirements.txt"
fi

cmake --preset release >&2
cmake --build --preset release --target chain_bench >&2
build/release/tests/chain_bench "$@" "$peer" tests/data/smollm2_rows.safetensors "$OUT/chains.txt" |
  tee "$OUT/chains.jsonl"
cat "$OUT/chains.txt" >&2
"$OUT/venv/bin/python" tests/bench/plot.py "$OUT/chains.jsonl" "$OUT/chains.png"
