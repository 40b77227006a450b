"""A comparison of rows over the same legs: a small campaign whose runs have names to read.

A directory has `comparison.json`, which says what was asked, and a directory for each run. Who asks
for the same comparison again gets what is missing; another one is refused there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from minitopo_dc.campaign.executors import Workers
from minitopo_dc.campaign.store import Store
from minitopo_dc.data_model import check_version
from minitopo_dc.fields import SettingsError
from minitopo_dc.fields.base import quoted
from minitopo_dc.files import parse_json, read_text, write_whole
from minitopo_dc.results.kept_scenario import file_digests
from minitopo_dc.results.run_result import ATTEMPTS, MAX_BYTES, RunResult
from minitopo_dc.results.tables.runs import flat, load_result
from minitopo_dc.runs.perform import Retries
from minitopo_dc.runs.script_plugins import registered_in_script, with_script_plugins
from minitopo_dc.scenario import Scenario

ASKED = "comparison.json"
MAX_LISTED = 5
"""The most differences that a message lists; with more it is another comparison."""


class ComparedRun(NamedTuple):
    """A run of a comparison: a row with the seed of a repetition (1, 2, ...)."""

    scenario: Scenario
    repetition: int
    variant: str
    """What sets its row apart from others of its transport and mode; maybe nothing."""

    @property
    def name(self) -> str:
        """Return the name of the run's directory: `quic-dc-least-delay-1`."""
        slug = re.sub("[^a-z0-9.]+", "-", self.variant.lower()).strip("-")
        return "-".join(filter(None, (self.scenario.label, slug, str(self.repetition))))


class RowCampaign:
    """Rows, each repeated with one seed after the other, and the directory of their runs.

    Args:
        directory: new, or to be gone on with.
        rows: the scenario of each row, with the seed of its first repetition.
        repetitions: how often each row is run.
        variants: what sets each row apart; none: what `variants_of` finds.
    """

    def __init__(
        self,
        directory: Path,
        rows: Sequence[Scenario],
        repetitions: int = 1,
        variants: Sequence[str] | None = None,
    ) -> None:
        own = registered_in_script()
        self.directory = directory
        self._rows = [with_script_plugins(row, own) for row in rows]
        self._repetitions = repetitions
        self._variants = variants_of(rows) if variants is None else variants
        self._store = Store(directory, runs=directory, lock=ASKED)

    @cached_property
    def runs(self) -> list[ComparedRun]:
        """Return every row once, then all of them again with the next seed, and so on.

        Within one repetition all rows meet the same losses and jitter.
        """
        return [
            self.run_of(row, repetition)
            for repetition in range(1, self._repetitions + 1)
            for row in range(len(self._rows))
        ]

    def run_of(self, row: int, repetition: int) -> ComparedRun:
        """Return the run of a row (0, 1, ...) in a repetition (1, 2, ...)."""
        scenario = self._rows[row]
        seeded = scenario.model_copy(update={"seed": scenario.seed + repetition - 1})
        return ComparedRun(seeded, repetition, self._variants[row])

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the directory, new or resumed; it says which comparison is asked for.

        Raises:
            SettingsError, StoreError: another comparison is there, or another process runs this
                one; or nothing can be written.
        """
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            self._check_asked()
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            raise SettingsError(f"{quoted(self.directory)}: {why}; give a new directory") from None
        with self._store.held():
            yield

    def finished(self, runs: Iterable[ComparedRun], retries: Retries) -> dict[str, RunResult]:
        """Return the results of the runs that are done, by their names.

        A run that the machine disturbed is done when it was repeated as often as is allowed.
        """

        def is_done(result: RunResult) -> bool:
            repeats = len(result.details.get(ATTEMPTS["disturbed"], ()))
            return result.status != "disturbed" or repeats >= retries.disturbed

        return self._store.finished((run.name for run in runs), is_done)

    def run(
        self, runs: Iterable[ComparedRun], workers: Workers, retries: Retries
    ) -> Iterator[tuple[str, RunResult]]:
        """Run and keep these runs; yield the name and the result of each as it ends.

        Raises:
            StoreError: the disk is full, or runs were lost; what was recorded is kept.
        """
        named = {run.name: run for run in runs}
        scenarios = {name: run.scenario for name, run in named.items()}
        for name, result in workers(scenarios, retries, self._store.working):
            _, repetition, variant = named[name]
            labelled = replace(result, repetition=repetition, variant=variant)
            yield name, self._store.keep(name, labelled)

    def _check_asked(self) -> None:
        """Write what is asked, unless it is there; ValueError if that is another comparison."""
        root = self.directory
        if not (root / ASKED).exists():
            if any(root.glob("*/result.json")):
                raise ValueError(f"holds runs, and no {ASKED} that says of what comparison")
            asked = {
                "repetitions": self._repetitions,
                "rows": [row.model_dump(mode="json") for row in self._rows],
                "files": file_digests(self._rows),
            }
            write_whole(root / ASKED, json.dumps(asked, indent=1))
            return
        check_version(root)
        before = parse_json(read_text(root / ASKED, MAX_BYTES, within=root))
        if differences := self._differences(before):
            more = "; ..." if len(differences) > MAX_LISTED else ""
            listed = "; ".join(differences[:MAX_LISTED]) + more
            raise ValueError(f"holds a comparison with other options: {listed}")

    def _differences(self, before: Any) -> list[str]:
        """Return how the comparison that a directory has differs from this one.

        Raises:
            ValueError: the text describes no comparison.
        """
        try:
            pairs: dict[str, Any] = {"repetitions": (before["repetitions"], self._repetitions)}
            rows, files = [Scenario.check(row, ASKED) for row in before["rows"]], before["files"]
        except (KeyError, TypeError):
            raise ValueError(f"{ASKED} is not what a comparison was asked for") from None
        theirs, mine = (
            ", ".join(f"{row.transport} {row.mode}" for row in both) for both in (rows, self._rows)
        )
        pairs["rows"] = theirs, mine
        for old, new in zip(rows, self._rows, strict=True) if theirs == mine else ():
            pairs |= differing_fields(old, new)
        lines = [f"{name} {old}, here {new}" for name, (old, new) in pairs.items() if old != new]
        for path, digest in file_digests(self._rows).items():
            if files.get(path, digest) != digest:
                lines.append(f"{path} has changed since its runs")
        return lines


def scenario_of_row(base: Scenario, row: Mapping[str, Any]) -> Scenario:
    """Return the scenario of a row: the fields in which it differs from `base`, and all others.

    Raises:
        SettingsError: the two do not fit together.
    """
    return Scenario.check({**base.model_dump(), **row}, "compare")


def load_runs(directory: Path) -> list[RunResult]:
    """Return the results of the runs that are done, in the order of their repetitions.

    Raises:
        SettingsError: a run is a link to another directory.
        ResultError: a result is broken.
    """
    runs = [path.parent for path in sorted(directory.glob("*/result.json"))]
    for run in runs:
        if run.is_symlink():
            raise SettingsError(f"{quoted(run)}: a link; allowed: a directory of this comparison's")
    return sorted(map(load_result, runs), key=lambda result: result.repetition)


def number_of_runs(directory: Path) -> int | None:
    """Return how many runs a comparison is to have; None when its directory does not tell."""
    try:
        asked = parse_json(read_text(directory / ASKED, MAX_BYTES, within=directory))
        return len(asked["rows"]) * int(asked["repetitions"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


TELLING = {"leg": "leg {}", "pdcp.split": "{}", "pdcp.t_reordering_ms": "t-Reordering {} ms"}
"""The fields that tell rows apart before all others, each with its words."""


def variants_of(scenarios: Sequence[Scenario]) -> list[str]:
    """Return what sets each row apart from others of its transport and mode; empty if nothing does.

    The names of their Dual Connectivities, if each has its own (`Scenario.dc_name`); else
    `least-delay`, or where split policies do not tell them apart `batch, t-Reordering 50 ms`.
    """
    rows = [(scenario.label, _fields(scenario)) for scenario in scenarios]
    names = [(scenario.label, scenario.dc_name) for scenario in scenarios]
    variants = []
    for (label, mine), (_, name) in zip(rows, names, strict=True):
        same = [fields for other, fields in rows if other == label]
        if len({other for other in names if other[0] == label and other[1]}) == len(same):
            variants.append(name)
            continue
        differ = [key for key in mine if len({str(fields.get(key)) for fields in same}) > 1]
        telling = [key for key in TELLING if key in differ]
        if sum(all(fields.get(key) == mine[key] for key in telling) for fields in same) > 1:
            telling = differ
        words = []
        for key in telling:
            value = f"{mine[key]:g}" if isinstance(mine[key], float) else str(mine[key])
            words.append(TELLING.get(key, f"{key} {{}}").format(value))
        variants.append(", ".join(words))
    return variants


def differing_fields(first: Scenario, second: Scenario) -> dict[str, tuple[Any, Any]]:
    """Return the fields in which two scenarios differ, with both values, by their paths."""
    old, new = map(_fields, (first, second))
    pairs = {path: (old.get(path), new.get(path)) for path in (*old, *new)}
    return {path: values for path, values in pairs.items() if values[0] != values[1]}


def _fields(scenario: Scenario) -> dict[str, Any]:
    return dict(flat(scenario.model_dump(mode="json")))
