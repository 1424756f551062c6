#!/usr/bin/env bash
# Asks the service and the engines whose sampling it takes over about the same rows, and prints for
# each engine how many were tried, and how many kept sets and distributions are equal. Exit code 1 if
# one differs for no documented reason. x86-64 only, as the library of llama.cpp is.
# Usage: tests/conformance/run.sh
#
# TOKENDRAW_BUILD: directory with tokendrawd; without it, build/release is built.
set -euo pipefail
cd "$(dirname "$0")/../.."

readonly OUT=build/conformance

bash deploy/install_packages.sh tests/conformance/packages.txt >&2

# Debian's torch is for Debian's Python, and wants Debian's numpy.
if ! cmp -s tests/conformance/requirements.txt "$OUT/venv/requirements.txt"; then
  /usr/bin/python3 -m venv --clear --system-site-packages "$OUT/venv"
  "$OUT/venv/bin/pip" install --quiet --disable-pip-version-check -r tests/conformance/requirements.txt
  cp tests/conformance/requirements.txt "$OUT/venv/requirements.txt"
fi

if [ -z "${TOKENDRAW_BUILD:-}" ]; then
  bash deploy/install_packages.sh deploy/build_packages.txt >&2
  cmake --preset release >&2
  cmake --build --preset release --target tokendrawd >&2
fi

TOKENDRAW_LLAMA_LIBRARY=$(bash tests/llama_cpp.sh)
export TOKENDRAW_LLAMA_LIBRARY
export PYTHONDONTWRITEBYTECODE=1
export TRANSFORMERS_VERBOSITY=error # it warns that models need a newer torch

status=0
for engine in llama_cpp transformers by_hand; do
  PYTHONPATH=tests/conformance:tests/e2e \
    "$OUT/venv/bin/python" "tests/conformance/compare_$engine.py" || status=1
done
"$OUT/venv/bin/python" -m pytest -q tests/conformance || status=1
exit "$status"
