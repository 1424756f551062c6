#!/usr/bin/env bash
# Checks that arm64 computes the golden tokens: installs a cross compiler and an emulator beside the
# machine's own packages, builds the sampling library, and runs tests/golden with NEON, and with SVE
# and SVE2 in vectors of 128, 256 and 512 bits.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! dpkg --print-foreign-architectures | grep -qx arm64; then
  as_root=()
  [ "$(id -u)" -eq 0 ] || as_root=(sudo)
  "${as_root[@]}" dpkg --add-architecture arm64
fi
bash deploy/install_packages.sh deploy/build_packages.txt tests/arm64_packages.txt

cmake -G Ninja -S tests/golden/standalone -B build/arm64 -DCMAKE_BUILD_TYPE=RelWithDebInfo \
  -DCMAKE_TOOLCHAIN_FILE="$PWD/tests/arm64.cmake"
cmake --build build/arm64

# check CPU TARGET...: a CPU of QEMU, and the instruction sets to test on it, which it must have.
check() {
  local cpu=$1
  shift
  echo "CPU $cpu"
  for target in "$@"; do
    qemu-aarch64-static -cpu "$cpu" build/arm64/tests/golden_tokens --target "$target" \
      --check tests/golden/tokens.txt
  done
}
check max,sve=off NEON
check max,sve128=on,sve256=off,sve512=off SVE SVE2 SVE2_128
check max,sve256=on,sve512=off SVE SVE2 SVE_256
check max,sve512=on,sve1024=off SVE SVE2
