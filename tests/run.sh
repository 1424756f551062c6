#!/usr/bin/env bash
# Installs what is missing, builds, and runs every test: with AddressSanitizer and UBSan, with
# ThreadSanitizer (all but the end-to-end tests, whose clients are other processes), and last the
# release build. Ends with ctest's summary.
# Usage: tests/run.sh [PRESET]...
set -euo pipefail
cd "$(dirname "$0")/.."

bash deploy/install_packages.sh deploy/build_packages.txt tests/packages.txt
bash tests/setup.sh

[ $# -gt 0 ] || set -- asan tsan release
for preset in "$@"; do
  cmake --preset "$preset"
  cmake --build --preset "$preset"
  ctest --preset "$preset"
done
