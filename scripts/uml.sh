#!/usr/bin/env bash
# Run a command as root in user-mode Linux, on this machine's files, and end with its exit status:
#   scripts/uml.sh COMMAND ARGUMENT...
# That kernel, the guest's (minitopo-dc build linux), has netem, tbf and NFQUEUE on any machine. It
# sees the file system read-only; /tmp and /run are its own, and $UML_OUTPUT (a directory, if set)
# is shared and writable. One processor; memory: $UML_MEMORY (512M).
set -euo pipefail

readonly GUEST='from minitopo_dc.linux_guest import parts; print(parts().kernel)'

host() {
    local kernel shared
    kernel=$("$(dirname "$0")/../.venv/bin/python" -c "$GUEST")
    shared=$(mktemp -d)
    trap 'rm -rf "$shared"' EXIT
    printf '%q ' "$@" > "$shared/command"
    pwd > "$shared/directory"
    echo "${UML_OUTPUT:-}" > "$shared/output"
    ln "$0" "$shared/init" 2> /dev/null || cp "$0" "$shared/init"
    chmod +x "$shared/init"
    # The kernel's own words go to its console; the command's to a file, since that has carriage returns.
    # What glibc registers there for itself disturbs the processes of a static program.
    GLIBC_TUNABLES=glibc.pthread.rseq=0 "$kernel" rootfstype=hostfs rootflags=/ ro "mem=${UML_MEMORY:-512M}" quiet \
        con=null con0=null,fd:1 init="$shared/init" UML_SHARED="$shared" < /dev/null > "$shared/console" 2>&1 || true
    cat "$shared/out" 2> /dev/null || true
    cat "$shared/err" >&2 2> /dev/null || true
    if [[ ! -s $shared/status ]]; then
        echo "uml.sh: user-mode Linux did not run the command:" >&2
        grep -v "^ \\[<" "$shared/console" >&2
        exit 125
    fi
    exit "$(<"$shared/status")"
}

inside() {
    local shared=$UML_SHARED output
    export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
    output=$(<"$shared/output")
    mount -t proc proc /proc
    mount -t sysfs sys /sys
    mount -t devpts pts /dev/pts
    mount -t tmpfs tmp /run
    mkdir /run/shared
    mount -t hostfs none /run/shared -o "$shared"
    if [[ -n $output ]]; then
        mkdir /run/output
        mount -t hostfs none /run/output -o "$output"
        export UML_OUTPUT=/run/output
    fi
    shared=/run/shared
    mount -t tmpfs tmp /tmp
    show_directory "$(<"$shared/directory")"
    # This kernel has the older packet filter only.
    mkdir /run/bin
    for name in iptables ip6tables; do ln -s /usr/sbin/xtables-legacy-multi "/run/bin/$name"; done
    export PATH=/run/bin:$PATH
    ip link set dev lo up
    local status=0
    (cd "$(<"$shared/directory")" && eval "$(<"$shared/command")") > "$shared/out" 2> "$shared/err" < /dev/null || status=$?
    echo "$status" > "$shared/status"
    sync
    echo o > /proc/sysrq-trigger
    sleep 10
}

# A directory below /tmp or /run, which the new ones hide.
show_directory() {
    if [[ ! -d $1 ]]; then
        mkdir -p "$1"
        mount -t hostfs none "$1" -o "$1"
    fi
}

if (($$ == 1)); then
    inside
else
    host "$@"
fi
