#!/usr/bin/env bash
# Installs what is missing, builds, and runs every test: with AddressSanitizer and UBSan, each fuzz
# target for a minute (in the same build), with ThreadSanitizer (all but the end-to-end tests, whose
# clients are other processes), the golden tokens as clang makes them, and last the release build. Ends
# with ctest's summary.
# Usage: tests/run.sh [asan|fuzz|tsan|golden-clang|release|debug|clang]...
#
# Not part of it, for its time: tests/arm64.sh (golden tokens on emulated arm64).
set -euo pipefail
cd "$(dirname "$0")/.."

bash deploy/install_packages.sh deploy/build_packages.txt tests/packages.txt
bash tests/setup.sh

[ $# -gt 0 ] || set -- asan fuzz tsan golden-clang release
for preset in "$@"; do
  if [ "$preset" = fuzz ]; then
    bash tests/fuzz/run.sh
    continue
  fi
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
