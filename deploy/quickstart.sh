#!/usr/bin/env bash
# From a bare Debian 12 to tokens: installs what it needs, builds, starts tokendrawd on a socket file,
# samples 24 logits rows of a real model through the client, says where the metrics are, stops the
# server. With --worker a real model writes text through the service, too: the first time that installs
# and compiles llama.cpp.
# Usage: deploy/quickstart.sh [--worker]
set -euo pipefail
cd "$(dirname "$0")/.."

worker=false
if [ "${1:-}" = --worker ]; then worker=true; fi

bash deploy/install_packages.sh deploy/build_packages.txt
mkdir -p build
cmake --preset release >build/quickstart.log 2>&1 ||
  { cat build/quickstart.log >&2; exit 1; }
cmake --build --preset release --target tokendrawd tokendraw

directory=$(mktemp -d)
rows=$(mktemp -d -p "$([ -w /dev/shm ] && echo /dev/shm || echo "$directory")")
build/release/tokendrawd --listen "unix:$directory/tokendraw.sock" --shm_dir "$rows" \
  --metrics_listen 127.0.0.1:0 2> >(tee "$directory/log" >&2) &
server=$!
trap 'kill "$server" 2>/dev/null || true; wait "$server" || true; rm -rf "$directory" "$rows"' EXIT

# With a deadline the client waits until the server is there.
build/release/tokendraw sample --server "unix:$directory/tokendraw.sock" \
  tests/data/smollm2_rows.safetensors --vocab tests/data/smollm2_vocab.json \
  --deadline_ms 30000 --typical_p 0.9 --xtc_probability 0.5 --xtc_threshold 0.1 --seed 42

if $worker; then
  client/examples/llama_worker/run.sh --server "unix:$directory/tokendraw.sock" \
    --prompt 'What is the capital of France?' --typical_p 0.9 --xtc_probability 0.5 --seed 42
fi

metrics=http://$(sed -n 's/.*metrics=\([^ )]*\).*/\1/p' "$directory/log" | head -1)/metrics
echo "Metrics, while the server runs: $metrics"
python3 - "$metrics" <<'EOF' || echo "(python3 is not there to show them)"
import sys, urllib.request
page = urllib.request.urlopen(sys.argv[1]).read().decode()
print(*(line for line in page.splitlines() if line.startswith(("tokendraw_rows", "tokendraw_tokens"))), sep="\n")
EOF

kill -TERM "$server"
wait "$server"
trap 'rm -rf "$directory" "$rows"' EXIT
