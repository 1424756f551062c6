#!/usr/bin/env bash
# Kills, stops, restarts and starves three servers under load, also behind proxies. Prints what was
# tried and what came of it; fails if a call failed or a token was another.
# Usage: tests/chaos/run.sh [--minutes N]
set -euo pipefail
cd "$(dirname "$0")/../.."

minutes=2
if [ "${1:-}" = --minutes ]; then minutes=$2; fi

bash deploy/install_packages.sh deploy/build_packages.txt tests/packages.txt tests/chaos/packages.txt >&2
bash tests/setup.sh >&2
if [ -z "${TOKENDRAW_BUILD:-}" ]; then
  cmake --preset release >&2
  cmake --build --preset release --target tokendrawd tokendraw >&2
fi
exec build/venv/bin/python tests/chaos/chaos.py "$minutes"
