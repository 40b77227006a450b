#!/usr/bin/env bash
# Run cargo, also where rustup's folder is not in PATH (sudo resets it); 127 when there is none.
set -euo pipefail
PATH="$PATH:${HOME-}/.cargo/bin"
command -v cargo > /dev/null || exit 127
exec cargo "$@"
