#!/usr/bin/env bash
# Builds the example, whose build.rs makes the client from the protos:
# build/examples/rust/debug/decode. client/examples/setup.sh installs what this calls.
set -euo pipefail
cd "$(dirname "$0")/../../.."

# Cargo.lock goes beside Cargo.toml: not into the tree.
out=build/examples/rust
mkdir -p "$out"
cp -rp client/examples/rust/{Cargo.toml,build.rs,src} "$out"
CARGO_PROFILE_DEV_DEBUG=0 cargo build --manifest-path "$out/Cargo.toml" --target-dir "$out"
