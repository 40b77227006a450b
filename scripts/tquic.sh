#!/usr/bin/env bash
# Build TQUIC's tools (the transport mpquic) into .cache/tquic/bin. Where that cannot be done, the
# set-up goes on, and .cache/tquic/unavailable tells `minitopo-dc` the reason and the remedy.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly VERSION=1.6.0
readonly ROOT=$PWD/.cache/tquic
readonly REASON=$ROOT/unavailable
readonly OLDEST_CARGO=1.70 # rust-version of tquic_tools 1.6.0

main() {
    mkdir -p "$ROOT"
    rm -f "$REASON"
    if grep -qs "tquic_tools $VERSION " "$ROOT/.crates.toml"; then
        return
    fi
    if ! new_enough "$(cargo_version)"; then
        install_cargo
    fi
    if ! new_enough "$(cargo_version)"; then
        unavailable "cargo $OLDEST_CARGO or newer is needed, found: $(cargo_version)" \
            "install Rust $OLDEST_CARGO or newer (rustup, or a newer Debian or Ubuntu), then: minitopo-dc build tquic"
    elif ! build; then
        unavailable "cargo could not build it (.cache/tquic/build.log): $(tail -n 1 "$ROOT/build.log")" \
            "put that right, then: minitopo-dc build tquic"
    fi
}

say() { echo "setup: $*" >&2; }

cargo_version() {
    local version
    version=$(scripts/cargo.sh --version 2> /dev/null) || version="cargo none"
    cut -d ' ' -f 2 <<< "$version"
}

new_enough() { [[ $1 != none && $(printf '%s\n' "$OLDEST_CARGO" "$1" | sort -V | head -n 1) == "$OLDEST_CARGO" ]]; }

# Debian 12 has a new cargo as cargo-web, beside an old one as cargo.
install_cargo() {
    local package
    if ((EUID == 0)) && [[ $(candidate cargo) == none ]]; then
        apt-get update --quiet >&2 || return 0 # a fresh machine may have no package lists yet
    fi
    for package in cargo cargo-web; do
        if new_enough "$(candidate "$package")"; then
            scripts/apt.sh "$package" || true
            return
        fi
    done
}

candidate() {
    LC_ALL=C apt-cache policy "$1" 2> /dev/null | sed -n 's/^  Candidate: \([0-9].*\)/\1/p' | grep . || echo none
}

# -w: BoringSSL makes warnings errors, and a newer compiler than its own finds new ones.
build() {
    say "building TQUIC $VERSION (3 to 5 minutes on 2 cores)"
    CFLAGS=-w CXXFLAGS=-w CARGO_TARGET_DIR=$ROOT/build scripts/cargo.sh install tquic_tools --version "$VERSION" \
        --locked --root "$ROOT" < /dev/null 2>&1 | tee "$ROOT/build.log" >&2 || return 1
    rm -rf "$ROOT/build"
}

unavailable() {
    printf "TQUIC's tools are not built: %s; %s\n" "$1" "$2" > "$REASON"
    say "$(<"$REASON") (everything else works without)"
}

main
