#!/usr/bin/env bash
# Sets the time of day to and fro under load, in an emulated machine of its own: this one's clock is
# not touched. Prints one line; fails if a call failed, a token was another or something stalled.
# Usage: tests/chaos/clock.sh
set -euo pipefail
cd "$(dirname "$0")/../.."

if [ "$(uname -m)" != x86_64 ]; then
  echo "$0 runs on x86-64 only: it boots a kernel for the binaries of this machine" >&2
  exit 1
fi
bash deploy/install_packages.sh deploy/build_packages.txt tests/chaos/clock_packages.txt >&2
if [ -z "${TOKENDRAW_BUILD:-}" ]; then
  cmake --preset release >&2
  cmake --build --preset release --target tokendrawd tokendraw >&2
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo)
"${as_root[@]}" apt-get update -q >&2
package=$(LC_ALL=C apt-cache depends linux-image-cloud-amd64 | sed -n 's/.*Depends: //p')
(cd "$work" && apt-get download -q "$package" >&2)
dpkg-deb --fsys-tarfile "$work/$package"_*.deb |
  tar -x -C "$work" --strip-components 2 --wildcards './boot/vmlinuz-*'
mv "$work"/vmlinuz-* "$work/kernel"
python3 tests/chaos/clock.py "$work"
