"""What a hostile user or machine does to it: `python -m benchmarks.hostile inputs` (or `kills`).

It ends with 1 when something is wrong; what is random follows from the seed.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys

from rich.console import Console
from rich.table import Table

from benchmarks.hostile import inputs, kills

SEED = 1
WIDTH = 160
"""Of a table in a file."""


def main(arguments: list[str] | None = None) -> int:
    """Run the chosen benchmark and print its table and faults; return the exit status."""
    chosen = _parser().parse_args(arguments)
    try:
        rows, faults = chosen.run(chosen)
    except KeyboardInterrupt:
        sys.stderr.write("interrupted: what was tried so far is not told\n")
        return 128 + signal.SIGINT
    if chosen.json:
        print(json.dumps({"rows": rows, "faults": faults}, indent=1))  # noqa: T201
    else:
        table = Table(*rows[0])
        for row in rows:
            table.add_row(*(str(value) for value in row.values()))
        console = Console(width=None if sys.stdout.isatty() else WIDTH)
        console.print(table)
        for fault in faults:
            console.print(fault, markup=False)
    return 1 if faults else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hostile", description=__doc__)
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    action = actions.add_parser("inputs", help="malformed files and options")
    action.add_argument("--count", type=int, default=600, help="inputs, over all kinds (600)")
    action.add_argument("--kinds", nargs="+", choices=inputs.KINDS, default=list(inputs.KINDS))
    action.set_defaults(run=lambda a: inputs.run(a.count, a.seed, a.kinds))
    _add_common(action)
    action = actions.add_parser("kills", help="signals and stops to parts of a real run (root)")
    action.add_argument("--count", type=int, default=20, help="runs (20)")
    action.add_argument("--victims", nargs="+", choices=kills.VICTIMS, default=list(kills.VICTIMS))
    action.add_argument("--blows", nargs="+", choices=kills.BLOWS, default=list(kills.BLOWS))
    action.set_defaults(run=lambda a: kills.run(a.count, a.seed, a.victims, a.blows))
    _add_common(action)
    return parser


def _add_common(action: argparse.ArgumentParser) -> None:
    action.add_argument("--seed", type=int, default=SEED, help=f"of the first ({SEED})")
    action.add_argument("--json", action="store_true", help="print it as JSON")


if __name__ == "__main__":
    # A shell's background job ignores it, and so would all that is started, to be hit by it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    raise SystemExit(main())
