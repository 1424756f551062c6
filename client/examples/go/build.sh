#!/usr/bin/env bash
# Makes the client from the protos and builds the example: build/examples/go/decode.
# client/examples/setup.sh installs what this calls.
set -euo pipefail
cd "$(dirname "$0")/../../.."

out=build/examples/go
mkdir -p "$out"
cp -p client/examples/go/*.go client/examples/go/go.* "$out"

# Where a proto's Go package is: the protos themselves name no language's.
packages=()
for proto in logits params sampling; do
  packages+=("Mtokendraw/v1/$proto.proto=example.com/decode/tokendraw/v1")
done
mapping=$(IFS=,; echo "${packages[*]}")
PATH="$PWD/build/tools:$PATH" protoc -I proto \
  --go_out="$mapping,paths=source_relative:$out" \
  --go-grpc_out="$mapping,paths=source_relative:$out" \
  proto/tokendraw/v1/*.proto
cd "$out"
go build -o decode .
