#!/usr/bin/env bash
# Measures every way of a row to the service and back, beside a raw echo of the same bytes and the
# chain alone: see wire.py. Leaves build/bench/wire.jsonl (also on stdout), wire.txt with the
# targets, and wire.png.
# Usage: tests/bench/wire.sh [--quick]
set -euo pipefail
cd "$(dirname "$0")/../.."

readonly OUT=build/bench

bash deploy/install_packages.sh deploy/build_packages.txt tests/bench/packages.txt >&2
if ! cmp -s tests/bench/requirements.txt "$OUT/venv/requirements.txt"; then
  mkdir -p "$OUT"
  python3 -m venv --clear "$OUT/venv"
  "$OUT/venv/bin/pip" install --quiet --disable-pip-version-check -r tests/bench/requirements.txt
  cp tests/bench/requirements.txt "$OUT/venv/requirements.txt"
fi
cmake --preset release >&2
cmake --build --preset release --target tokendrawd wire_peer wire_worker >&2

python3 tests/bench/wire.py build/release "$@" 2>"$OUT/wire.txt" | tee "$OUT/wire.jsonl"
cat "$OUT/wire.txt" >&2
"$OUT/venv/bin/python" tests/bench/wire_plot.py "$OUT/wire.jsonl" "$OUT/wire.png"
