#!/usr/bin/env bash
# Make everything that `make compare` needs: Debian packages, .venv, picoquic; noq where cargo is.
# With --tests, also what only `make test` needs: the tools of development, and those with which
# tests look at results, where the distribution has them.
# Does nothing, in well under a second, when nothing has changed since the last time.
# Writes to standard error only: standard output belongs to the command that is set up.
set -euo pipefail
exec 1>&2
cd "$(dirname "$0")/.."

# Debian's mininet is a module of this Python, and of no other on the machine.
readonly SYSTEM_PYTHON=/usr/bin/python3
readonly STAMP=.cache/setup.stamp
readonly DEVELOPMENT_STAMP=.cache/setup-tests.stamp
readonly NO_GUEST=.cache/no-guest # could not be built the last time
readonly PACKAGES=(
    python3-venv python3-dev          # the environment, and headers to build NetfilterQueue
    build-essential                   # NetfilterQueue, picoquic
    libssl-dev                        # picoquic
    libnetfilter-queue-dev            # NetfilterQueue
    ca-certificates                   # pip fetches over TLS
    mininet iproute2 ethtool procps   # hosts, links, routes, offloads, sysctl
    iptables                          # hands packets to the element
    iputils-ping                      # Mininet's own --test pingall
    curl mptcpize                     # clients of tcp and mptcp
)

# Installed where the distribution has them; without, their transport is unsupported.
readonly OPTIONAL_PACKAGES=(
    ngtcp2-server ngtcp2-client       # quic-ngtcp2
)
# What `minitopo-dc build` imports: it compiles while pip fetches the others.
readonly BUILD_PACKAGES=(cffi lazy_loader pydantic PyYAML rich)
readonly TEST_PACKAGES=(
    tshark                            # shows captures as a user sees them
    iperf3                            # a user's own program
    flex bison bc                     # the guest kernel
    chromium                          # shows reports, loads pages; Ubuntu has it as a snap only
)

main() {
    mkdir -p .cache
    exec 9> .cache/setup.lock
    flock 9
    install_packages
    if [[ ${1:-} == --tests ]]; then
        install_available "${TEST_PACKAGES[@]}"
    fi
    check_python
    local key parts=()
    key=$(state)
    if ! is_done "$STAMP" "$key"; then
        rm -f "$NO_GUEST"
        make_environment
        install_optional_packages
        parts=(real picoquic native)
        # A comparison on the real clock, as root, has no runs over noq unless they are named, and
        # the first of those builds it.
        ((EUID == 0)) || parts+=(noq)
    fi
    if [[ ${1:-} == --tests ]]; then
        # What is made already takes no time.
        is_done "$DEVELOPMENT_STAMP" "$key" || parts=(real,dev picoquic native noq)
        # For tcp and mptcp on the virtual clock: 5 minutes of a processor, once. What could not be
        # built is tried again after the next change of the environment only.
        [[ -e $NO_GUEST ]] || parts=(linux "${parts[@]}")
    fi
    build_all "${parts[@]}"
    if ! is_done "$STAMP" "$key"; then
        echo "$key" > "$STAMP"
        say "done; .venv/bin/minitopo-dc check tells what this machine can do"
    fi
    [[ ${1:-} != --tests ]] || echo "$key" > "$DEVELOPMENT_STAMP"
}

# Whether the environment has what a stamp of this state stands for.
is_done() { [[ -x .venv/bin/minitopo-dc && -f $1 && $(<"$1") == "$2" ]]; }

say() { echo "setup: $*"; }

# Run a command, named by $1, and say how long it took unless that was a moment.
timed() {
    local begin=$EPOCHSECONDS
    "${@:2}" || return
    ((EPOCHSECONDS - begin < 2)) || say "$1 took $((EPOCHSECONDS - begin)) s" >&2
}

install_packages() {
    local missing
    mapfile -t missing < <(missing_packages "${PACKAGES[@]}")
    if ((${#missing[@]} == 0)); then
        return
    fi
    if ! command -v apt-get > /dev/null; then
        say "no apt-get here (this knows Debian and Ubuntu); install what these packages hold:" "${missing[@]}"
        return
    fi
    scripts/apt.sh "${missing[@]}"
}

install_optional_packages() {
    local before
    before=$(missing_packages "${OPTIONAL_PACKAGES[@]}")
    if ! install_available "${OPTIONAL_PACKAGES[@]}"; then
        say "goes on without" "${OPTIONAL_PACKAGES[@]}"
    fi
    # Debian's ngtcp2-server also has a server of its own started at each boot; one that was there
    # before this set-up is its user's.
    if [[ $before == *ngtcp2-server* && -z $(missing_packages ngtcp2-server) ]] &&
        command -v systemctl > /dev/null; then
        systemctl --quiet disable --now ngtcp2d.service || true # no systemd runs here: none to stop
    fi
}

# Install those packages that the distribution has. A test whose tool it lacks is skipped and says so.
install_available() {
    local wanted
    mapfile -t wanted < <(missing_packages "$@")
    if ((${#wanted[@]} == 0 || EUID != 0)) || ! command -v apt-get > /dev/null; then
        return 0
    fi
    apt-get update --quiet # a fresh machine may have no package lists yet
    mapfile -t wanted < <(for package in "${wanted[@]}"; do available "$package"; done)
    if ((${#wanted[@]})); then
        scripts/apt.sh "${wanted[@]}"
    fi
}

# Prints the package's name if it can be installed.
available() {
    local policy
    policy=$(LC_ALL=C apt-cache policy "$1") # not piped: grep -q would end it by SIGPIPE, a failure
    if grep -q '^  Candidate: [0-9]' <<< "$policy"; then
        echo "$1"
    fi
}

# Prints those of the packages that are not installed.
missing_packages() {
    # dpkg-query fails when it does not know one of them: that is an answer here.
    comm -23 <(printf '%s\n' "$@" | sort) \
        <(dpkg-query --show --showformat='${db:Status-Status} ${Package}\n' "$@" 2> /dev/null |
            sed -n 's/^installed //p' | sort)
}

check_python() {
    if ! "$SYSTEM_PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
        say "$SYSTEM_PYTHON must be Python 3.11 or newer (Debian 12, Ubuntu 24.04 or newer);" \
            "it is $("$SYSTEM_PYTHON" --version 2>&1 || true)"
        exit 1
    fi
}

# All that the environment is made of.
state() {
    {
        pwd
        "$SYSTEM_PYTHON" --version
        cat setup.py pyproject.toml constraints.txt scripts/*.sh
        cat minitopo_dc/extension/*.py
        cat minitopo_dc/quic/*.h minitopo_dc/quic/*/__init__.py minitopo_dc/quic/picoquic/*.[ch] minitopo_dc/quic/noq/{Cargo.*,*.patch,src/*}
        cat studies/thesis/quic_of_2020/library.py
        cat minitopo_dc/native/library.py minitopo_dc/native/*.h minitopo_dc/native/*/*.[ch]
    } | sha256sum
}

make_environment() {
    say "making .venv with $("$SYSTEM_PYTHON" --version)"
    "$SYSTEM_PYTHON" -m venv --system-site-packages .venv
    rm -f "$DEVELOPMENT_STAMP"
    pip_install "${BUILD_PACKAGES[@]}"
}

# This package with what these of its extras need, and what its installed entry points build.
install() {
    say "installing Python packages (about a minute)"
    pip_install --editable ".[$1]"
    build aioquic-2020
}

# Python compiles a module when it first imports it: three of four never are, also by the tests.
pip_install() {
    if ! PIP_DISABLE_PIP_VERSION_CHECK=1 .venv/bin/pip install --quiet --no-compile \
        --constraint constraints.txt "$@"; then
        say "pip could not install the tested versions (constraints.txt); its reason is above"
        exit 1
    fi
}

# What a command makes, all at once: one waits for the network while another compiles. Jobs of this
# shell would go on after Ctrl-C, which ends those of xargs. Without a part the set-up goes on, but
# for Python's packages.
build_all() {
    export -f build install pip_install say timed
    export NO_GUEST
    (($# == 0)) || printf '%s\n' "$@" | xargs --max-procs 4 --replace={} bash -c 'build {}'
}

build() {
    local command="from minitopo_dc.cli import main; main()"
    if [[ $1 == real* ]]; then
        timed "installing Python packages" install "$1"
    elif ! timed "building $1" .venv/bin/python -c "$command" build "$1" > /dev/null; then
        say "goes on without $1; put that right, then: .venv/bin/minitopo-dc build $1"
        [[ $1 != linux ]] || touch "$NO_GUEST"
    fi
}

main "$@"
