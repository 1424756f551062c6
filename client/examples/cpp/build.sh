#!/usr/bin/env bash
# Installs the client library of a build, and builds the example against it: decode.
# Usage: [TOKENDRAW_BUILD=build/release] client/examples/cpp/build.sh [OUT, default build/examples/cpp]
# CXX and CXXFLAGS are those that the library was built with, if they are not the usual ones.
set -euo pipefail
cd "$(dirname "$0")/../../.."

library=${TOKENDRAW_BUILD:-build/release}
out=${1:-build/examples/cpp}
mkdir -p "$out"
cmake --install "$library" --component client --prefix "$out/prefix" >"$out/install.log"
cmake -S client/examples/cpp -B "$out" -DCMAKE_PREFIX_PATH="$(realpath "$out")/prefix"
cmake --build "$out"
