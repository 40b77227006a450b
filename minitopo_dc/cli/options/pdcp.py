"""The option `--split`, and the bearers' fields that it makes with `--set`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from minitopo_dc.cli.options.assignments import BEARER, assignments, is_below, put
from minitopo_dc.pdcp.policies.policy import policy_names, policy_parameters
from minitopo_dc.settings import Pdcp, SettingsError
from minitopo_dc.settings.base import quoted

SPLITS = (Pdcp().split, "least-delay")
"""The default split policies of a comparison: the papers' split, and the adaptive one that needs no
reports. In `which_is_better/deployed` it was as good as MP-QUIC in 354 of 512 networks, and
`proportional`, which needs them, in 359 (docs/study.md)."""
PARAMETERS = "pdcp.parameters."


def listed(values: Sequence[str]) -> list[str]:
    """Return the values one by one, whether they were given as `A B` or as `A,B`."""
    return [part for value in values for part in value.split(",") if part]


def add_split_option(parser: argparse._ActionsContainer, *, several: bool = False) -> None:
    """Add the option for the split policy; with `several`, for a row each."""
    default = SPLITS if several else SPLITS[:1]
    what = "split policies of Dual Connectivity, a row each" if several else "split policy"
    parser.add_argument(
        "--split",
        nargs="+" if several else 1,
        default=default,
        metavar="POLICY",
        help=f"{what} (docs/split-policies.md; default: {' '.join(default)})",
    )


def splits(arguments: argparse.Namespace) -> list[str]:
    """Return the split policies.

    Raises:
        SettingsError: no policy is given, or one twice.
    """
    names = listed(arguments.split)
    if not names or len(set(names)) < len(names):
        raise SettingsError(f"--split: {quoted(' '.join(names))}; one value or more, each once")
    return names


def bearer_fields(arguments: argparse.Namespace, split: str) -> dict[str, Any]:
    """Return `pdcp` with a split policy and, where `--set` names it, `uplink_pdcp`.

    A parameter of the policy that others of a comparison have, and it has not, is left out.

    Raises:
        SettingsError: no policy has a parameter, or a field is wrong.
    """
    values = {p: value for p, value in assignments(arguments).items() if is_below(p, *BEARER)}
    has = {name: policy_parameters(name) for name in splits(arguments)}
    for path in [path for path in values if path.startswith(PARAMETERS)]:
        name = path.removeprefix(PARAMETERS)
        if has.keys() <= set(policy_names()) and not any(name in own for own in has.values()):
            known = "; ".join(
                f"{policy}: {', '.join(own) or 'none'}" for policy, own in has.items()
            )
            raise SettingsError(f"--set {path}: no policy has {name}; {known}")
        if name not in has[split]:
            del values[path]
    return put({"pdcp": {"split": split}}, values)
