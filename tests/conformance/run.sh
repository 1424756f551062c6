#!/usr/bin/env bash
# Asks the service and the engines whose sampling it takes over about the same rows, and prints for
# each engine how many were tried, and how many kept sets and distributions are equal. Exit code 1 if
# one differs for no documented reason. x86-64 only, as the library of llama.cpp is.
# Usage: tests/conformance/run.sh
#
# TOKENDRAW_BUILD: directory with tokendrawd; without it, build/release is built.
set -euo pipefail
cd "$(dirname "$0")/../.."

readonly PEER_VERSION=3.22.1 # of the npm package that carries llama.cpp; llama_cpp_abi.py is for it
readonly OUT=build/conformance

bash deploy/install_packages.sh tests/conformance/packages.txt >&2
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

TOKENDRAW_LLAMA_LIBRARY=$(find "$PWD/$peer_dir" -name 'libllama*.so' ! -name 'libllama-common*')
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
