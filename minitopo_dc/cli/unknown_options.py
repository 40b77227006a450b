"""The message for an option that a command does not have: which one is meant, and where all are."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import NoReturn

from minitopo_dc.errors import InputError
from minitopo_dc.suggestions import did_you_mean

MEANT = {
    **dict.fromkeys(("--rate", "--rates", "--bandwidth", "--bw", "--capacity"), "--legs"),
    **dict.fromkeys(("--rtt", "--latency"), "--delay, which is one-way"),
    **dict.fromkeys(("--cc", "--congestion"), "--congestion-control"),
    **dict.fromkeys(("--runs", "--seeds", "--repeat"), "--repetitions"),
    **dict.fromkeys(("--scheduler", "--policy"), "--split"),
    **dict.fromkeys(("--transport", "--protocol"), "--transports"),
    "--duration": "--workload download:duration_s=S",
}
"""Words of other tools for what has another name here."""
REPLACED = {
    "--uplink-delay": "legs.*.uplink.delay_ms=MS",
    "--uplink-jitter": "legs.*.uplink.jitter_ms=MS",
    "--uplink-loss": "legs.*.uplink.loss_percent=PERCENT",
    "--uplink-queue": "legs.*.uplink.queue_packets=PACKETS",
    "--rlc": "legs.*.downlink.rlc.mode=MODE",
    "--block-errors": "legs.*.downlink.rlc.block_error_percent=PERCENT",
    "--trace-time-column": "legs.*.downlink.trace_time_column=NAME:UNIT",
    "--trace-end": "legs.*.downlink.end=RULE",
    "--trace-offset": "trace_offset_s=S",
    "--outage": "legs.N.outages=[[FROM,TO]], where N counts from 0",
    "--split-parameter": "pdcp.parameters.NAME=VALUE",
    "--report-interval": "pdcp.report_ms=MS",
    "--batch": "pdcp.batch=PACKETS",
    "--ratio": "pdcp.ratio=[A,B]",
    "--dc-legs": "pdcp.legs=[N,N]",
    "--t-reordering": "pdcp.t_reordering_ms=MS",
    "--sn-bits": "pdcp.sn_bits=BITS",
    "--delivery": "pdcp.delivery=DELIVERY",
    "--split-uplink": "split_uplink=true",
    "--uplink-split": "uplink_pdcp.split=POLICY",
    "--pdcp": "pdcp.FIELD=VALUE",
    "--receive-buffer": "options.receive_buffer_bytes=BYTES",
    "--timeout": "timeout_s=S",
    "--paths": "paths.initial=[N] and --set 'paths.schedule=[{at_s: S, open: N}]'",
    "--ip": "ip_version=6",
    "--core": "virtual.core=CORE",
}
"""Options that there were, with what follows `--set` in their place."""
PROGRAM = ("exec", "shell")
"""Commands whose line goes on with a user's program."""


def refuse(
    parser: argparse.ArgumentParser, parsed: argparse.Namespace, unknown: Sequence[str]
) -> NoReturn:
    """Refuse words that no option takes.

    Args:
        parser: that of the whole command line.
        parsed: what it understood.
        unknown: what is left.

    Raises:
        InputError: always, with the option that may be meant.
    """
    names, inner = _inner(parser, parsed)
    command = " ".join(names)
    given = next((word for word in unknown if word.startswith("-")), unknown[0]).partition("=")[0]
    if names[0] in PROGRAM and not given.startswith("--"):
        raise InputError(f"{command}: no option {given}; write -- before your program")
    if given in REPLACED and "--set" in inner._option_string_actions:
        raise InputError(f"{command}: {given} is gone; write --set {REPLACED[given]}")
    what = "option " if given.startswith("-") else "word "
    hint = _meant(given, inner)
    raise InputError(
        f"{command}: no {what}{given}; {hint}`minitopo-dc {command} --help` lists the options"
    )


def _meant(given: str, parser: argparse.ArgumentParser) -> str:
    """Return which option may be meant, empty if none is similar."""
    options = [name for action in parser._actions for name in action.option_strings]
    named = MEANT.get(given, "")
    if named.partition(",")[0].partition(" ")[0] in options:
        return f"did you mean {named}? "
    hint = did_you_mean(given, options)
    return f"{hint} " if hint else ""


def _inner(
    parser: argparse.ArgumentParser, parsed: argparse.Namespace
) -> tuple[list[str], argparse.ArgumentParser]:
    """Return the words of the subcommand that was given, and its parser."""
    names = []
    while actions := [
        action for action in parser._actions if isinstance(action, argparse._SubParsersAction)
    ]:
        name = str(getattr(parsed, actions[0].dest))
        names.append(name)
        parser = actions[0].choices[name]
    return names, parser
