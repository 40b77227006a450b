"""The state of a campaign: which runs are done, and why others are not."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console

from minitopo_dc.analysis.tables.sheet import Head, Sheet
from minitopo_dc.campaign.execution.store import Store, describe_status
from minitopo_dc.campaign.file.plan import Plan
from minitopo_dc.runs.results import FINE, RunResult, exit_status


def tell_campaign(store: Store, damaged: Mapping[str, str], *, as_json: bool) -> int:
    """Print the state of a campaign.

    Returns:
        0 when every run is ok or unsupported, 1 when one is not, damaged or missing, 3 when none
        can
        run here.
    """
    plan, done = store.plan(), store.done()
    wanted = {run: done[run] for run in plan.needed_by if run in done}
    counts = describe_status(done, plan)
    reasons: dict[tuple[str, str], list[str]] = {}
    for run, each in wanted.items():
        if each.status != "ok":
            reasons.setdefault((each.status, each.reason), []).append(run)
    if as_json:
        told: dict[str, Any] = {
            name: {run: each.reason for run, each in wanted.items() if each.status == status}
            for name, status in (("failures", "failed"), ("disturbances", "disturbed"))
        }
        lacking = {why: len(runs) for (status, why), runs in reasons.items() if status in FINE}
        told |= {"unsupported_reasons": lacking, "damaged": dict(damaged)}
        print(json.dumps({**counts, **told}, indent=1))  # noqa: T201
    else:
        _tell_counts(plan, done, counts)
        _tell_reasons(store, reasons, damaged)
    if counts["missing"] or damaged:
        return 1
    return exit_status([each.status for each in wanted.values()])


def _tell_counts(plan: Plan, done: Mapping[str, RunResult], counts: Mapping[str, int]) -> None:
    """Print how many runs of each experiment have each status; a shared run counts in each."""
    names = [name for name, count in counts.items() if count or name in ("runs", "ok")]
    sheet = Sheet([Head("experiment", text=True), *map(Head, names)])
    experiments: dict[str, list[str]] = {}
    for run, needed_by in plan.needed_by.items():
        for experiment in needed_by:
            experiments.setdefault(experiment, []).append(run)
    for experiment, runs in experiments.items():
        states = Counter(done[run].status if run in done else "missing" for run in runs)
        states["runs"] = len(runs)
        sheet.add(experiment, *(str(states[name]) for name in names))
    sheet.add("all", *(str(counts[name]) for name in names))
    Console().print(sheet)


def _tell_reasons(
    store: Store, reasons: Mapping[tuple[str, str], Sequence[str]], damaged: Mapping[str, str]
) -> None:
    """Print why runs are not ok, one line for all that have the same reason; then the files."""
    lines = []
    for (status, reason), runs in reasons.items():
        if len(runs) == 1:
            lines.append(f"{status}: {store.runs / runs[0]}: {reason}")
        else:
            lines.append(
                f"{status}: {len(runs)} runs: {reason} (the first: {store.runs / runs[0]})"
            )
    lines += [
        f"damaged: {store.runs / run}: {why}; campaign run repeats it"
        for run, why in damaged.items()
    ]
    tables = (
        "results.csv, results.parquet"
        if store.is_writable
        else "read-only, so no tables are written"
    )
    report = shlex.join(["minitopo-dc", "campaign", "report", str(store.root)])
    lines += [f"Results: {store.root} ({tables})", f"Means, intervals and figures: {report}"]
    for line in lines:
        Console().print(line, markup=False, highlight=False, soft_wrap=True)
