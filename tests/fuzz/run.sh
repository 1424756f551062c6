#!/usr/bin/env bash
# Builds the fuzz targets with clang's libFuzzer, AddressSanitizer and UBSan, and runs each.
# What is found new is kept in build/fuzz/corpus for the next run.
# Usage: tests/fuzz/run.sh [SECONDS]     (60 if not given, for each target)
set -euo pipefail
cd "$(dirname "$0")/../.."
readonly seconds=${1:-60}
readonly targets=(request_fuzz row_fuzz)

bash deploy/install_packages.sh deploy/build_packages.txt tests/packages.txt
cmake --preset asan
cmake --build --preset asan --target "${targets[@]}"

for target in "${targets[@]}"; do
  mkdir -p "build/fuzz/corpus/$target"
  corpus=("build/fuzz/corpus/$target")
  [ ! -d "tests/fuzz/corpus/$target" ] || corpus+=("tests/fuzz/corpus/$target")
  "build/asan/tests/$target" -max_total_time="$seconds" -max_len=2048 -timeout=20 \
    -rss_limit_mb=2048 -print_final_stats=1 "${corpus[@]}"
done
