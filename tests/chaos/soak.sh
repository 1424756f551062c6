#!/usr/bin/env bash
# Mixed load on one server for N minutes: no call may fail, memory and descriptors stay flat.
# Usage: tests/chaos/soak.sh [--minutes N]
set -euo pipefail
cd "$(dirname "$0")/../.."

minutes=30
if [ "${1:-}" = --minutes ]; then minutes=$2; fi

bash deploy/install_packages.sh deploy/build_packages.txt tests/packages.txt >&2
bash tests/setup.sh >&2
cmake --preset release >&2
cmake --build --preset release --target tokendrawd tokendraw >&2
exec build/venv/bin/python tests/chaos/soak.py "$minutes"
