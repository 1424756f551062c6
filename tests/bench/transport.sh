#!/usr/bin/env bash
# Measures the way to the server: see transport.py. TOKENDRAW_BUILD: the build directory.
set -euo pipefail
cd "$(dirname "$0")/../.."

export PYTHONDONTWRITEBYTECODE=1
export TOKENDRAW_BUILD=${TOKENDRAW_BUILD:-$PWD/build/release}
exec build/venv/bin/python tests/bench/transport.py "$@"
