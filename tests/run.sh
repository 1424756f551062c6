#!/usr/bin/env bash
# Installs what is missing, builds, and runs every test: with AddressSanitizer and UBSan (clang), each fuzz
# target for a minute (in the same build), with ThreadSanitizer (all but the end-to-end tests, whose
# clients are other processes), the conformance suite, a short chaos run, and last the release build. Ends
# with ctest's summary.
# Usage: tests/run.sh [asan|fuzz|tsan|conformance|chaos|release|golden-clang|debug|clang]...
#
# Not part of it, for its time: golden-clang (golden tokens of clang's optimised code), tests/arm64.sh
# (golden tokens on emulated arm64), tests/chaos/run.sh --minutes N, tests/chaos/soak.sh --minutes N and
# tests/chaos/clock.sh (jumps of the time of day, in an emulated machine).
set -euo pipefail
cd "$(dirname "$0")/.."

bash deploy/install_packages.sh deploy/build_packages.txt tests/packages.txt
bash tests/setup.sh

if [ $# -eq 0 ]; then
  set -- asan fuzz tsan chaos release
  if [ "$(uname -m)" = x86_64 ]; then
    set -- asan fuzz tsan conformance chaos release
  else
    echo "tests/run.sh: without conformance, whose engines are there for x86-64 only" >&2
  fi
fi
for preset in "$@"; do
  if [ "$preset" = fuzz ]; then
    bash tests/fuzz/run.sh
    continue
  fi
  if [ "$preset" = conformance ]; then
    bash tests/conformance/run.sh
    continue
  fi
  if [ "$preset" = chaos ]; then
    bash tests/chaos/run.sh --minutes 0.5
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
