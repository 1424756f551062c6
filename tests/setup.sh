#!/usr/bin/env bash
# Installs what the tests call: a Python environment in build/venv, grpcurl in build/tools, and what
# the examples are built with.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly GRPCURL_VERSION=v1.8.9 # the newest that Debian 12's Go builds

if ! cmp -s tests/requirements.txt build/venv/requirements.txt; then
  python3 -m venv --clear build/venv
  build/venv/bin/pip install --quiet --disable-pip-version-check -r tests/requirements.txt
  cp tests/requirements.txt build/venv/requirements.txt
fi

if [ ! -x build/tools/grpcurl ]; then
  GOBIN="$PWD/build/tools" go install "github.com/fullstorydev/grpcurl/cmd/grpcurl@$GRPCURL_VERSION"
fi

bash client/examples/setup.sh
