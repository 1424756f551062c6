#!/usr/bin/env bash
# Answers prompts with a real model through a tokendraw server; sets the worker up if need be.
# Usage: client/examples/llama_worker/run.sh --server unix:PATH --prompt TEXT [FLAG]...
set -euo pipefail
root=$(cd "$(dirname "$0")/../../.." && pwd)

bash "$root/client/examples/llama_worker/setup.sh"
exec "$root/build/llama_worker/bin/python" "$root/client/examples/llama_worker/worker.py" "$@"
