"""Options of the split bearer, and the fields of `pdcp` that they make."""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import yaml

from minitopo_dc.commands.options import quantities
from minitopo_dc.numbers import whole
from minitopo_dc.pdcp.policies.policy import policy_names, policy_parameters
from minitopo_dc.settings import Pdcp, SettingsError
from minitopo_dc.settings.base import quoted
from minitopo_dc.settings.defaults import REPORT_MS
from minitopo_dc.settings.yaml_text import parse_yaml


def listed(values: Sequence[str]) -> list[str]:
    """Return the values one by one, whether they were given as `A B` or as `A,B`."""
    return [part for value in values for part in value.split(",") if part]


PAPERS = Pdcp()
"""The defaults, which are those of a scenario."""
SPLITS = (PAPERS.split, "least-delay")
"""The default split policies of a comparison: the papers' split, and the adaptive one that needs no
reports. In campaign `dc-or-multipath` it was as good as MP-QUIC in 354 of 512 networks, and
`proportional`, which needs them, in 359 (docs/measurements/designs.md)."""


def add_dc_options(parser: argparse.ArgumentParser, *, several: bool = False) -> None:
    """Add the parameters of the split bearer; with `several`, some make a row for each value."""
    group = parser.add_argument_group("Dual Connectivity")
    waits = f"{PAPERS.t_reordering_ms:g}"
    if several:
        group.add_argument(
            "--split",
            nargs="+",
            default=SPLITS,
            metavar="POLICY",
            help=f"split policies, a row each (default: {' '.join(SPLITS)})",
        )
    else:
        group.add_argument(
            "--split",
            default=PAPERS.split,
            metavar="POLICY",
            help=f"split policy (default: {PAPERS.split})",
        )
    group.add_argument(
        "--split-parameter",
        dest="split_parameters",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a parameter of the split policy (docs/split-policies.md)"
        + (", which each policy that has it gets" if several else "")
        + "; repeatable",
    )
    group.add_argument(
        "--report-interval",
        dest="report_ms",
        type=quantities.of("ms"),
        metavar="MS",
        help="interval of the receiver's reports to the split policy "
        f"(default: {REPORT_MS:g} where the policy needs reports, else no reports)",
    )
    group.add_argument(
        "--batch",
        type=whole,
        default=PAPERS.batch,
        metavar="PACKETS",
        help=f"packets of one cycle over all legs (default: {PAPERS.batch})",
    )
    group.add_argument(
        "--ratio", metavar="A:B", help="shares of the legs in a cycle (default: 1:1)"
    )
    group.add_argument(
        "--dc-legs",
        nargs="+",
        default=[],
        metavar="N",
        help="legs of the bearer; an uplink that is not split takes the first (default: all legs)",
    )
    group.add_argument(
        "--t-reordering",
        nargs="+" if several else None,
        default=[waits] if several else waits,
        metavar="MS",
        help="t-Reordering: a value of TS 38.331, infinity or adaptive"
        + (", a row each" if several else "")
        + f" (default: {waits})",
    )
    group.add_argument(
        "--sn-bits",
        type=whole,
        default=PAPERS.sn_bits,
        metavar="BITS",
        help=f"length of the PDCP sequence number: 12, 16 or 18 (default: {PAPERS.sn_bits})",
    )
    group.add_argument(
        "--delivery",
        default=PAPERS.delivery,
        help="delivery to upper layers: in-order, out-of-order or off "
        f"(default: {PAPERS.delivery})",
    )
    group.add_argument(
        "--split-uplink",
        action="store_true",
        help="split the uplink as well (default: the uplink takes the first leg)",
    )
    group.add_argument(
        "--uplink-split",
        metavar="POLICY",
        help="split policy of a split uplink (default: as --split)",
    )
    group.add_argument(
        "--pdcp",
        dest="pdcp_fields",
        action="append",
        default=[],
        metavar="FIELD=VALUE",
        help="another field of a scenario's pdcp, such as numbering=late (docs/scenarios.md); "
        "repeatable",
    )


def each_pdcp(arguments: argparse.Namespace) -> Iterator[argparse.Namespace]:
    """Yield the options once for each split policy and t-Reordering of a comparison.

    Raises:
        SettingsError: no value is given, or one twice.
    """
    splits, timers = listed(arguments.split), listed(arguments.t_reordering)
    for option, values in (("--split", splits), ("--t-reordering", timers)):
        if not values or len(set(values)) < len(values):
            raise SettingsError(
                f"{option}: {quoted(' '.join(values))}; one value or more, each once"
            )
    for split, timer in itertools.product(splits, timers):
        one = {"split": split, "t_reordering": timer, "splits": splits}
        yield argparse.Namespace(**{**vars(arguments), **one})


def pdcp_fields(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the PDCP fields of the downlink.

    Raises:
        SettingsError: a parameter or field is not given as it has to be.
    """
    named = {
        "split": arguments.split,
        "parameters": _parameters(arguments),
        "report_ms": arguments.report_ms,
        "batch": arguments.batch,
        "ratio": arguments.ratio.split(":") if arguments.ratio else None,
        "t_reordering_ms": arguments.t_reordering,
        "sn_bits": arguments.sn_bits,
        "delivery": arguments.delivery,
        "legs": listed(arguments.dc_legs) or None,
    }
    others = _assignments("--pdcp", arguments.pdcp_fields)
    twice = sorted(named.keys() & others.keys())
    if twice:
        raise SettingsError(f"--pdcp: {', '.join(twice)}; has an option of its own")
    return named | others


def _parameters(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the parameters of the split policy.

    One that others of a comparison have, and it has not, is left out.

    Raises:
        SettingsError: none of them has it, with the names of those that there are.
    """
    given = _assignments("--split-parameter", arguments.split_parameters)
    own = policy_parameters(arguments.split)
    splits = getattr(arguments, "splits", None) or (arguments.split,)
    has = {each: policy_parameters(each) for each in splits}
    for name in given if set(splits) <= set(policy_names()) else ():
        if not any(name in names for names in has.values()):
            known = "; ".join(
                f"{each}: {', '.join(names) or 'none'}" for each, names in has.items()
            )
            raise SettingsError(f"--split-parameter: no policy has {name}; {known}")
    return {name: value for name, value in given.items() if name in own}


def uplink_pdcp_fields(arguments: argparse.Namespace) -> dict[str, Any] | None:
    """Return the PDCP fields of the uplink, or None when it has none of its own.

    They are the downlink's with another split policy.

    Raises:
        SettingsError: the uplink is not split.
    """
    if arguments.uplink_split is None:
        return None
    if not arguments.split_uplink:
        raise SettingsError("--uplink-split: needs --split-uplink")
    return pdcp_fields(arguments) | {"split": arguments.uplink_split}


def _assignments(option: str, given: Sequence[str]) -> dict[str, Any]:
    """Return `NAME=VALUE` assignments by name; values are written as in a scenario file.

    Raises:
        SettingsError: an assignment has another form, or a name comes twice.
    """
    values: dict[str, Any] = {}
    for words in given:
        name, equals, value = words.partition("=")
        if not (name and equals and value) or name in values:
            raise SettingsError(f"{option}: {words}; allowed: NAME=VALUE, each name once")
        try:
            values[name] = parse_yaml(value)
        except yaml.YAMLError:
            raise SettingsError(f"{option}: {words}; the value is not YAML") from None
    return values
