"""What a hostile user, machine or network does to it: `python -m benchmarks.hostile inputs`.

Each ends with 1 when something is wrong; what is random follows from the seed.
"""

from __future__ import annotations

import argparse
import signal
import sys

from benchmarks.hostile import campaign, inputs, pdus, soak
from benchmarks.hostile.kills import runs as kills
from benchmarks.hostile.kills.blows import BLOWS
from benchmarks.hostile.report import Report
from minitopo_dc.pdcp import SN_BITS

SEED = 1


def main(arguments: list[str] | None = None) -> int:
    """Run the chosen benchmark and print its report; return the exit status."""
    chosen = _parser().parse_args(arguments)
    try:
        found: Report = chosen.run(chosen)
    except KeyboardInterrupt:
        sys.stderr.write("interrupted: what was tried so far is not told\n")
        return 128 + signal.SIGINT
    return found.show(as_json=chosen.json)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hostile", description=__doc__)
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    each = _action(actions, "inputs", "malformed files and options", 600, "inputs, over all kinds")
    each.add_argument("--kinds", nargs="+", choices=inputs.KINDS, default=list(inputs.KINDS))
    each.set_defaults(run=lambda a: inputs.run(a.count, a.seed, a.kinds))
    each = _action(actions, "pdus", "random PDUs into a receiving entity", 100_000, "PDUs")
    each.set_defaults(run=lambda a: pdus.run(a.count, a.seed))
    each = _action(actions, "kills", "signals and stops to parts of a real run (root)", 20, "runs")
    each.add_argument("--victims", nargs="+", choices=kills.VICTIMS, default=list(kills.VICTIMS))
    each.add_argument("--blows", nargs="+", choices=BLOWS, default=list(BLOWS))
    each.set_defaults(run=lambda a: kills.run(a.count, a.seed, a.victims, a.blows))
    each = _action(actions, "campaign", "kills, a full disk, damaged files", 5, "of each")
    each.add_argument("--ways", nargs="+", choices=campaign.WAYS, default=list(campaign.WAYS))
    each.set_defaults(run=lambda a: campaign.run(a.count, a.seed, a.ways))
    each = actions.add_parser("soak", help="both elements for minutes (root)")
    each.add_argument("--json", action="store_true")
    each.add_argument("--minutes", type=float, default=2)
    each.add_argument("--rate", type=int, default=20_000, help="PDUs a second (20000)")
    each.add_argument("--sn-bits", type=int, default=18, choices=SN_BITS)
    each.set_defaults(run=lambda a: soak.run(a.minutes, a.rate, a.sn_bits))
    return parser


def _action(
    actions: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    text: str,
    count: int,
    of: str,
) -> argparse.ArgumentParser:
    parser = actions.add_parser(name, help=text)
    parser.add_argument("--count", type=int, default=count, help=f"{of} ({count})")
    parser.add_argument("--seed", type=int, default=SEED, help=f"of the first ({SEED})")
    parser.add_argument("--json", action="store_true", help="print it as JSON")
    return parser


if __name__ == "__main__":
    # A shell's background job ignores it, and so would all that is started, to be hit by it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    raise SystemExit(main())
