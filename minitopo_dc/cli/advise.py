"""Advise on Dual Connectivity or multipath over your legs in a minute (`minitopo-dc advise`)."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pandas as pd
from rich.console import Console

from minitopo_dc.advice import advise
from minitopo_dc.advice.sequence import Advice
from minitopo_dc.campaign.store import FACTS, Store, load
from minitopo_dc.cli import options, screen
from minitopo_dc.cli.options.scenario import base_fields
from minitopo_dc.files import write_whole
from minitopo_dc.results.tables.runs import with_results
from minitopo_dc.ways import LABEL

ADVICE = "advice.json"


def execute(arguments: argparse.Namespace) -> int:
    """Return 0 when there is a verdict, be it that the evidence is not enough; else 1.

    Raises:
        SettingsError, TraceError: an option is wrong, or something cannot run here.
    """
    fields = base_fields(arguments)
    root = screen.new_directory(arguments.output, "advise", FACTS, make=False)
    with (
        screen.resumable(arguments, root, lambda: f"{len(Store(root).names)} runs are"),
        Console(stderr=True).status("starting") as line,
    ):
        advice = advise(
            **fields,
            output=root,
            progress=line.update,
            transports=options.listed(arguments.transports or ()),
            stacks=arguments.stacks and options.listed(arguments.stacks),
            seconds=arguments.time,
            margin_percent=arguments.margin,
            xn_ms=arguments.xn,
            jobs=arguments.jobs,
            begun=arguments.begun,
        )
    results = with_results(load(root))
    if arguments.json:
        print(json.dumps(advice.to_json(), indent=1))  # noqa: T201
    else:
        screen.print_runs(results if len(results) else None, [*advice.sentences()])
    if not screen.saved(root, lambda: _save(advice, results, root)):
        return 1
    if not arguments.json:
        screen.say(f"Results: {root}")
    return 0 if advice.dual or advice.multipath else 1


def _save(advice: Advice, results: pd.DataFrame, root: Path) -> None:
    from minitopo_dc.plots import timeline  # noqa: PLC0415 (Matplotlib takes a second)

    write_whole(root / ADVICE, json.dumps(advice.to_json(), indent=1))
    if results.empty:
        return
    ok = results[results["status"] == "ok"].drop_duplicates(LABEL)  # the first seed counts
    places = dict(zip(ok[LABEL], ok["directory"], strict=True))
    names = [way for way in (advice.dual, advice.multipath) if way and way in places]
    if names:
        figure = timeline(*(Path(places[way]) for way in names), names=names)
        screen.save_figure(figure, root / "advice.png")
