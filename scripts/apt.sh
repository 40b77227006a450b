#!/usr/bin/env bash
# Install Debian packages: apt.sh PACKAGE...
set -euo pipefail

readonly COMMAND=(apt-get install --no-install-recommends "$@")

# Removes nothing; waits for another apt (a fresh cloud machine upgrades itself at first).
install() {
    DEBIAN_FRONTEND=noninteractive "${COMMAND[@]}" --yes --quiet --no-remove -o DPkg::Lock::Timeout=300 < /dev/null
}

if ((EUID != 0)); then
    echo "setup: not root; run this first: sudo ${COMMAND[*]}" >&2
    exit 1
fi
echo "setup: installing Debian packages: $*" >&2
# The package lists of a fresh machine may be missing or too old.
install || { apt-get update --quiet && install; } || {
    echo "setup: apt-get failed, see above; on Ubuntu, mininet and mptcpize are in 'universe'" >&2
    exit 1
}
