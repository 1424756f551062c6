#!/usr/bin/env bash
# Times each sampler of the chain that run.sh does not, beside the same chain without it. JSON lines to
# stdout, the verdicts to stderr; fails if one is slower than its bound.
# Usage: tests/bench/samplers.sh [--quick]
set -euo pipefail
cd "$(dirname "$0")/../.."

bash deploy/install_packages.sh deploy/build_packages.txt >&2
cmake --preset release >&2
cmake --build --preset release --target sampler_bench >&2
build/release/tests/sampler_bench "$@" tests/data/smollm2_rows.safetensors
