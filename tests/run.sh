#!/usr/bin/env bash
# Installs what is missing, builds, and runs every test: with AddressSanitizer and UBSan, with
# ThreadSanitizer (all but the end-to-end tests, whose clients are other processes), the golden tokens
# as clang makes them, and last the release build. Ends with ctest's summary.
# Usage: tests/run.sh [PRESET]...
#
# Not part of it, for their time: tests/arm64.sh (golden tokens on emulated arm64), tests/fuzz/run.sh.
set -euo pipefail
cd "$(dirname "$0")/.."

bash deploy/install_packages.sh deploy/build_packages.txt tests/packages.txt
bash tests/setup.sh

[ $# -gt 0 ] || set -- asan tsan golden-clang release
for preset in "$@"; do
  if [ "$preset" = golden-clang ]; then
    cmake -G Ninja -S tests/golden/standalone -B build/golden-clang \
      -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_BUILD_TYPE=RelWithDebInfo
    cmake --build build/golden-clang
    ctest --test-dir build/golden-clang --output-on-failure
    continue
  fi
  cmake --preset "$preset"
  cmake --build --preset "$preset"
  ctest --preset "$preset"
done
