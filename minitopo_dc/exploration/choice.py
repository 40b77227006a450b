"""What somebody has chosen on the page: the scenarios that it is, and the words to take it away.

The widgets know nothing of scenarios, and this module nothing of widgets.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pprint import pformat
from typing import Any, Final, Self

import yaml
from yaml import YAMLError

from minitopo_dc.fields import SettingsError
from minitopo_dc.fields.base import quoted
from minitopo_dc.fields.ranges import CONGESTION_CONTROL
from minitopo_dc.fields.yaml_text import parse_yaml
from minitopo_dc.installation import shipped
from minitopo_dc.scenario import Leg, LegDirection, Scenario
from minitopo_dc.scenario.field_paths import set_value
from minitopo_dc.scenario.presets import NAMES, XN_MS

QUIC: Final = ("quic-picoquic", "mpquic-picoquic")
KERNEL: Final = ("tcp", "mptcp")
"""The transports of a page: over one path, and over several; those of a kernel by a box."""
WAYS: Final = {
    **{"quic-picoquic": "DC", "mpquic-picoquic": "MP-QUIC"},
    **{"tcp": "DC (TCP)", "mptcp": "MPTCP"},
}
CHOSEN: Final = ("transport.", "mode.", "leg.", "clock.", "pdcp.split.")
"""Paths below fields that the page, as `minitopo-dc compare`, chooses by itself."""
TRACES: Final = tuple(sorted(path.stem for path in shipped("traces").glob("lte_*.csv")))
"""The names of the capacities of one leg that come with the package."""


@dataclass(frozen=True)
class LegChoice:
    """One leg, as its sliders stand: the downlink, whose delay and jitter the uplink has, too."""

    rate_mbps: float = 20.0
    trace: str = ""
    """The name of an embedded trace, in place of the rate; empty: none."""
    delay_ms: float = 10.0
    jitter_ms: float = 1.0
    loss_percent: float = 0.0
    queue_packets: int = 100

    @classmethod
    def of(cls, leg: Leg, place: str) -> Self:
        """Return the choice that makes this leg.

        Raises:
            SettingsError: the leg has what no slider has; the message begins with its `place`.
        """
        known = {field.name: getattr(leg.downlink, field.name) for field in fields(cls)}
        trace = "" if leg.downlink.trace is None else leg.downlink.trace.stem
        choice = cls(**known | {"trace": trace, "rate_mbps": known["rate_mbps"] or cls.rate_mbps})
        if trace not in ("", *TRACES) or Leg(**choice.settings()) != leg:
            names = ", ".join(field.name for field in fields(cls))
            raise SettingsError(
                f"{place}: more than the sliders have; allowed: the downlink's {names}"
            )
        return choice

    def settings(self) -> dict[str, Any]:
        """Return the downlink's fields, without those that have their default."""
        if self.trace:
            capacity: dict[str, Any] = {"trace": str(shipped("traces") / f"{self.trace}.csv")}
        else:
            capacity = {"rate_mbps": self.rate_mbps}
        names = ("delay_ms", "jitter_ms", "loss_percent", "queue_packets")
        rest = {name: getattr(self, name) for name in names}
        return capacity | {
            name: value
            for name, value in rest.items()
            if name == "delay_ms" or value != LegDirection.model_fields[name].default
        }


@dataclass(frozen=True)
class Choice:
    """All that the page's sliders and boxes say."""

    legs: tuple[LegChoice, ...] = (
        LegChoice(rate_mbps=20, delay_ms=30),
        LegChoice(rate_mbps=80, delay_ms=10),
    )
    size_mb: float = 5.0
    congestion_control: str = CONGESTION_CONTROL
    dc: str = "deployable"
    """A Dual Connectivity with a name (`scenario.presets`), or a plain split policy."""
    xn_ms: float = XN_MS
    """The one-way delay of Xn, of `deployable`."""
    t_reordering_ms: str = ""
    """Empty: as the Dual Connectivity has it."""
    others: str = ""
    """Any other fields, as `minitopo-dc compare --set` has them: `FIELD=VALUE FIELD=VALUE`."""
    seed: int = 1
    seeds: int = 1
    """How many seeds each way is run with, from `seed` on."""
    kernel: bool = False
    """Whether TCP and MPTCP of a Linux kernel run, too."""

    def document(self) -> dict[str, Any]:
        """Return the scenario over Dual Connectivity as a file would have it, unchecked.

        Raises:
            InputError: `others` names no field, or has no value for one.
        """
        document: dict[str, Any] = {
            "transport": QUIC[0],
            "mode": "dc",
            "legs": [{"downlink": leg.settings()} for leg in self.legs],
            "primary_leg": "nearest",
            "pdcp": {} if self.is_named else {"split": self.dc},
            "workload": {"kind": "download", "size_mb": self.size_mb},
            "congestion_control": self.congestion_control,
            "seed": self.seed,
            "clock": "virtual",
        }
        self._assign(document)
        if self.is_named:
            document |= Scenario.check(document, "page").dc_fields(self.dc, self.xn_ms)
            self._assign(document)
        return document

    @property
    def is_named(self) -> bool:
        """Return whether the Dual Connectivity is one with a name."""
        return self.dc in NAMES

    def _assign(self, document: dict[str, Any]) -> None:
        for path, value in self._assignments():
            try:
                set_value(document, path, parse_yaml(value))
            except YAMLError as error:
                problem = getattr(error, "problem", None) or "not YAML"
                raise SettingsError(f"{path}={quoted(value)}: {problem}") from None

    def _assignments(self) -> Iterator[tuple[str, str]]:
        if self.t_reordering_ms:
            yield "pdcp.t_reordering_ms", self.t_reordering_ms
        for words in self.others.split():
            path, _, value = words.partition("=")
            if not (path and value):
                raise SettingsError(f"{words}: allowed: FIELD=VALUE, several with spaces between")
            if f"{path}.".startswith(CHOSEN):
                raise SettingsError(f"{path}: the page chooses it; allowed: any other field")
            yield path, value

    def ways(self) -> dict[str, Scenario]:
        """Return the scenarios by the names of their ways: legs alone, DC, multipath.

        Raises:
            InputError: a value is wrong; the message is one line that names its field.
        """
        base = Scenario.check(self.document(), "page")
        return {name: base.evolve(**changes) for name, changes in self._changes().items()}

    def _changes(self) -> dict[str, dict[str, Any]]:
        changes: dict[str, dict[str, Any]] = {}
        for one, several in (QUIC, KERNEL) if self.kernel else (QUIC,):
            of_kernel = {} if one == QUIC[0] else {"transport": one}
            for leg in range(1, len(self.legs) + 1):
                name = f"leg {leg}" + (" (TCP)" if of_kernel else "")
                changes[name] = of_kernel | {"mode": "sc", "leg": leg}
            changes[WAYS[one]] = of_kernel
            changes[WAYS[several]] = {"transport": several, "mode": "multipath"}
        return changes

    def yaml(self) -> str:
        """Return the scenario over Dual Connectivity as a file for `minitopo-dc run`."""
        document = self.document()
        return yaml.safe_dump(document, sort_keys=False, allow_unicode=True)

    def python(self) -> str:
        """Return a program that compares the same ways."""
        document = self.document()
        document["workload"] = document["workload"].copy()
        document["workload"].pop("kind")
        lines = []
        for leg in document.pop("legs"):
            code = repr(leg)  # of a leg with fields of both directions
            if leg.keys() <= {"downlink", "uplink"}:
                code = f"dc.Leg({_arguments(leg.pop('downlink') | leg)})"
            lines.append(f"        {code},")
        size = ", ".join(f"{name}={value!r}" for name, value in document.pop("workload").items())
        rest = [f"    {name}={pformat(value, width=90)}," for name, value in document.items()]
        ways = [
            f'    "{name}": base' + (f".evolve({_arguments(way)})" if way else "") + ","
            for name, way in self._changes().items()
        ]
        return "\n".join(
            [
                *("import minitopo_dc as dc", "", "base = dc.Scenario(", "    legs=["),
                *(*lines, "    ],", f"    workload=dc.Download({size}),", *rest, ")"),
                *("ways = {", *ways, "}", f"dc.compare(ways, seeds={self.seed_numbers()})"),
            ]
        )

    def seed_numbers(self) -> list[int]:
        """Return the seeds of the runs of each way."""
        return list(range(self.seed, self.seed + self.seeds))

    def command(self) -> str:
        """Return the command line that compares the same ways."""
        transports = (*QUIC, *KERNEL) if self.kernel else QUIC
        legs = [leg.settings() for leg in self.legs]
        words = ["minitopo-dc", "compare", "--clock", "virtual"]
        words += ["--transports", *transports]
        words += ["--legs", *(_plain(leg.get("trace", leg.get("rate_mbps"))) for leg in legs)]
        words += ["--delay", *(_plain(leg.delay_ms) for leg in self.legs)]
        words += ["--jitter", *(_plain(leg.jitter_ms) for leg in self.legs)]
        words += ["--size", _plain(self.size_mb), "--dc" if self.is_named else "--split", self.dc]
        if self.dc == "deployable":
            words += ["--xn", _plain(self.xn_ms)]
        words += ["--congestion-control", self.congestion_control]
        words += ["--seed", str(self.seed), "--repetitions", str(self.seeds)]
        for place, leg in enumerate(legs):
            for name in [name for name in ("loss_percent", "queue_packets") if name in leg]:
                words += ["--set", f"legs.{place}.downlink.{name}={_plain(leg[name])}"]
        for path, value in self._assignments():
            words += ["--set", f"{path}={value}"]
        return shlex.join(words)


def _plain(value: Any) -> str:
    """Return a value for a command line; a number with all its digits, 20.0 as 20."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _arguments(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in values.items())
