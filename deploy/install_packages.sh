#!/usr/bin/env bash
# Installs the Debian packages that the files name, one a line, if any is missing.
# Usage: deploy/install_packages.sh FILE...
set -euo pipefail

missing=()
while read -r package; do
  dpkg-query -W -f '${Status}\n' "$package" 2>/dev/null | grep -qx 'install ok installed' ||
    missing+=("$package")
done < <(cat "$@")
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo)
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update -q
"${as_root[@]}" apt-get install -q -y --no-install-recommends "${missing[@]}"
