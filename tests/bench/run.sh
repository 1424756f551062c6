#!/usr/bin/env bash
# Times every chain beside its floor and beside llama.cpp's samplers, on rows of several kinds and
# sizes. Leaves build/bench/chains.jsonl (also on stdout), chains.txt with the targets, and
# chains.png. x86-64 only, as the library of llama.cpp is.
# Usage: tests/bench/run.sh [--quick]
set -euo pipefail
cd "$(dirname "$0")/../.."

readonly OUT=build/bench

bash deploy/install_packages.sh deploy/build_packages.txt tests/bench/packages.txt >&2
peer=$(bash tests/llama_cpp.sh)

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
