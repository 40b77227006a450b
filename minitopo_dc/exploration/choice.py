"""What somebody has chosen on the page: its scenarios, its words to take away, and its runs.

The runs are made in processes that stay; the newest choice overtakes all older ones.

The widgets know nothing of scenarios, and this module nothing of widgets.
"""

from __future__ import annotations

import math
import os
import shlex
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cache, partial
from pathlib import Path
from pprint import pformat
from threading import Lock, Thread
from typing import Any, Final, Self

import numpy as np
from yaml import YAMLError

from minitopo_dc.campaign.executors import Results, Scenarios, perform, pooled
from minitopo_dc.clocks import build_missing
from minitopo_dc.errors import MinitopoDcError
from minitopo_dc.fields import SettingsError
from minitopo_dc.fields.base import quoted
from minitopo_dc.fields.ranges import CONGESTION_CONTROL
from minitopo_dc.fields.yaml_text import dump_yaml, parse_yaml
from minitopo_dc.installation import shipped
from minitopo_dc.pool import Pool
from minitopo_dc.results import leg_series
from minitopo_dc.results.measures.account import reordering_wait_ms
from minitopo_dc.runners.quic import stacks_of, transports_of
from minitopo_dc.runs.perform import Retries
from minitopo_dc.scenario import Leg, LegDirection, Scenario
from minitopo_dc.scenario.presets import NAMES, XN_MS, set_value
from minitopo_dc.ways import Comparison, compare

QUIC: Final = ("quic-picoquic", "mpquic-picoquic")
KERNEL: Final = ("tcp", "mptcp")
"""The transports of a page: over one path, and over several; those of a kernel by a box."""
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
    stacks: bool = False
    """Whether all stacks of MP-QUIC that are built run, not picoquic alone."""

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

    def transports(self) -> dict[str, tuple[str, str]]:
        """Return the transports, over one path and several, by what their ways' names end in."""
        pairs = {"": QUIC}
        if self.stacks:
            others = (name for name in stacks_of() if transports_of(name) != QUIC)
            pairs |= {f" ({name})": transports_of(name) for name in others}
        return pairs | ({" (TCP)": KERNEL} if self.kernel else {})

    def _changes(self) -> dict[str, dict[str, Any]]:
        changes: dict[str, dict[str, Any]] = {}
        for words, (one, several) in self.transports().items():
            other = {} if one == QUIC[0] else {"transport": one}
            for leg in range(1, len(self.legs) + 1):
                changes[f"leg {leg}{words}"] = other | {"mode": "sc", "leg": leg}
            changes[f"DC{words}"] = other
            multipath = "MPTCP" if several == "mptcp" else f"MP-QUIC{words}"
            changes[multipath] = {"transport": several, "mode": "multipath"}
        return changes

    def yaml(self) -> str:
        """Return the scenario over Dual Connectivity as a file for `minitopo-dc run`."""
        document = self.document()
        return dump_yaml(document)

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
        transports = [name for pair in self.transports().values() for name in pair]
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


MOST_S = 60.0
"""A lot of runs that has not ended by then is given up."""
SAMPLE_MS = 10
"""How often the elements sample their queues in a run of a page."""
DELAYS = ("queue", "propagation", "reordering")
"""What the delay of a packet consists of."""


def mean_delays_ms(run: Path) -> dict[str, float]:
    """Return how long a downlink packet waits on the mean, and where (`DELAYS`).

    Queue and propagation follow from the samples of the packets that were there, by Little's law;
    the queue has the time of the transmission. PDCP counts the wait for the order itself.

    Raises:
        ResultError: a file of the run is missing or broken.
    """
    packets, there = 0, np.zeros(2)
    for _, rows in leg_series(run).groupby("leg"):
        packets += rows["delivered_packets"].max()
        there += np.trapezoid(rows[["queue_packets", "air_packets"]], rows["time_s"], axis=0)
    queue, air = (1000 * there / max(1, packets)).tolist()
    wait = reordering_wait_ms(run)
    return dict(zip(DELAYS, (queue, air, 0.0 if math.isnan(wait) else wait), strict=True))


@cache
def _pool() -> Pool:
    """Return the processes of all pages of this process."""
    return Pool(perform, len(os.sched_getaffinity(0)))


_one_at_a_time = Lock()


def compared(choice: Choice, is_old: Callable[[], bool]) -> Comparison | None:
    """Compare the ways of a choice; None when a newer choice has overtaken this one.

    Its runs have the mean delays of a packet beside their measures: `queue_ms`, ... (`DELAYS`).

    Raises:
        InputError: a value of the choice is wrong.
        MinitopoDcError: a run took too long, or its process ended.
    """
    chosen = choice.ways().items()
    ways = {name: way.evolve(statistics_ms=SAMPLE_MS) for name, way in chosen}
    build_missing(ways.values())
    workers = partial(_in_lots, is_old)
    made = compare(ways, choice.seed_numbers(), executor=workers, progress=False)
    if (made.runs["status"] == "missing").any():
        if is_old():
            return None
        raise MinitopoDcError(f"given up: not done after {MOST_S:g} s; a smaller size may be")
    places = [made.directory / run for run in made.runs["run"]]
    good = made.runs["status"] == "ok"
    delays = [mean_delays_ms(run) if ok else {} for run, ok in zip(places, good, strict=True)]
    for part in DELAYS:
        made.runs[f"{part}_ms"] = [own.get(part, math.nan) for own in delays]
    return made


def _in_lots(
    is_old: Callable[[], bool], scenarios: Scenarios, retries: Retries, working: Path
) -> Results:
    """Make runs in lots, each of a run a process; between two it is asked whether they are old."""
    names, number = [*scenarios], len(os.sched_getaffinity(0))
    for begin in range(0, len(names), number):
        lot = {name: scenarios[name] for name in names[begin : begin + number]}
        with _one_at_a_time:
            if is_old():
                return
            yield from pooled(_pool(), time.monotonic() + MOST_S, lot, retries, working)


class Newest:
    """Answers the newest request in a thread of its own; those that came before it are dropped.

    Args:
        answer: gets a request, and a function that tells whether a newer one waits.
    """

    def __init__(self, answer: Callable[[Any, Callable[[], bool]], None]) -> None:
        self._answer, self._lock = answer, Lock()
        self._waiting: list[Any] = []
        self._thread: Thread | None = None

    def ask(self, request: Any) -> None:
        """Have a request answered, in place of one that waits."""
        with self._lock:
            self._waiting = [request]
            if self._thread is None:
                self._thread = Thread(target=self._work, daemon=True)
                self._thread.start()

    def settle(self) -> None:
        """Wait until the newest request is answered."""
        thread = self._thread
        if thread is not None:
            thread.join()

    def _work(self) -> None:
        while (request := self._next()) is not None:
            self._answer(request, lambda: bool(self._waiting))

    def _next(self) -> Any:
        with self._lock:
            if self._waiting:
                return self._waiting.pop()
            self._thread = None
            return None
