#!/usr/bin/env bash
# The native core under AddressSanitizer and UndefinedBehaviorSanitizer: its differential tests with more
# examples, whole runs on both cores, four million PDUs with their rules checked, and a fuzzer of hostile PDUs,
# reports and settings for some seconds.
# scripts/sanitize.sh [SECONDS of the fuzzer, 60]
set -euo pipefail
cd "$(dirname "$0")/.."
readonly SECONDS_OF_FUZZER=${1:-60}
# cc finds them; what Python itself never frees is no leak of ours.
LIBRARIES=$(cc -print-file-name=libasan.so):$(cc -print-file-name=libubsan.so)

directory=$(mktemp -d)
beside=
trap '[[ -z $beside ]] || kill -- "-$beside" 2> /dev/null || true; rm -rf "$directory"' EXIT
.venv/bin/python -m tests.native.sanitized "$directory"
extension=$(echo "$directory"/*.so)

checked() {
    MINITOPO_DC_NATIVE=$extension LD_PRELOAD=$LIBRARIES ASAN_OPTIONS=detect_leaks=0 \
        UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 .venv/bin/python "$@"
}

# Each is one process: the fuzzer, then the PDUs, go on beside the tests.
echo "sanitize: differential tests; beside them fuzzer, $SECONDS_OF_FUZZER s, and PDUs"
set -m # a group of its own, which the end of this script ends
(checked -m tests.native.fuzz "$SECONDS_OF_FUZZER" && .venv/bin/python -m tests.native.soak 4000000) &
beside=$!
set +m
MINITOPO_DC_EXAMPLES=200 checked -m pytest -q -p no:cacheprovider -p no:xdist tests/native \
    tests/virtual/whole_runs/test_cores.py
wait "$beside"
echo "sanitize: passed"
