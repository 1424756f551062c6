#!/usr/bin/env bash
# Installs what the examples are built with, unless it is there: protoc, Go with its two protoc
# plugins (in build/tools), Rust, Node.js.
set -euo pipefail
cd "$(dirname "$0")/../.."

readonly PROTOC_GEN_GO=v1.34.2 PROTOC_GEN_GO_GRPC=v1.3.0 # the newest that Debian 12's Go builds

# Debian's packages, where no other toolchain provides the command. Debian 12 has two Rusts, and tonic
# needs the newer one; its npm does not go with another vendor's Node.js.
missing=$(mktemp)
trap 'rm -f "$missing"' EXIT
for tool in protoc:protobuf-compiler go:golang-go cargo:cargo-web rustc:rustc-web node:nodejs npm:npm; do
  command -v "${tool%%:*}" >/dev/null || echo "${tool#*:}" >>"$missing"
done
bash deploy/install_packages.sh "$missing"

if [ ! -x build/tools/protoc-gen-go ]; then
  GOBIN="$PWD/build/tools" go install "google.golang.org/protobuf/cmd/protoc-gen-go@$PROTOC_GEN_GO"
fi
if [ ! -x build/tools/protoc-gen-go-grpc ]; then
  GOBIN="$PWD/build/tools" go install \
    "google.golang.org/grpc/cmd/protoc-gen-go-grpc@$PROTOC_GEN_GO_GRPC"
fi
