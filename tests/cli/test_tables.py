"""Every table of the command line at 80 columns: no line is longer, no word and digit is cut."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from rich.console import Console, RenderableType

from minitopo_dc.cli import run, show, template, trace
from minitopo_dc.results import compare_table, render_table, results_table
from minitopo_dc.results.tables.sheet import Head, Sheet
from minitopo_dc.runners.base import all_runners
from minitopo_dc.runs.results import RunResult
from minitopo_dc.trace import Capacities, channel_statistics
from tests.results.synthetic_runs import no_result, result

WIDTH = 80
WIDE = 2000
OF_NAMES = {
    *("transport", "mode", "runs", "flow", "capacity", "cells", "configuration", "experiment"),
    *("measure", "clock"),
}
"""Heads of what a record's name is made of, which it does not repeat."""
LABELS = {each.name: each.label for each in all_runners()}
LONG = "reports-of-every-leg-by-a-policy-with-a-long-name, t-Reordering 1500 ms"


def rendered(shown: RenderableType, width: int) -> str:
    console = Console(width=width, color_system=None)
    with console.capture() as capture:
        console.print(shown)
    return capture.get()


def words(text: str) -> Counter[str]:
    """What stands there, without what frames it."""
    return Counter(re.findall(r"[^\s,─]+", text))


def check(narrow: str, wide: str) -> None:
    """Each word of a table with all the room that it wants is there, in lines of 80 characters."""
    assert wide.strip()
    assert max(map(len, narrow.splitlines())) <= WIDTH
    assert not (words(wide) - words(narrow)).keys() - OF_NAMES
    assert "…" not in narrow


def comparison(variants: list[str], legs: int, **changes: Any) -> Sheet:
    """Four transports and modes with all variants, three runs each, of which one was disturbed."""
    runs: list[RunResult] = []
    rows = [("mpquic-picoquic", "multipath"), ("quic-ngtcp2", "dc-duplicate"), ("tcp", "dc")]
    for (transport, mode), variant, number in product(rows, variants, (1, 2, 3)):
        leg_bytes = [123_456_789 // 10**leg for leg in range(legs)]
        named: dict[str, Any] = {"variant": variant, "repetition": number, "seed": number}
        numbers: dict[str, Any] = {"goodput_mbps": 1234.5 + number, "leg_bytes": leg_bytes}
        named["workload"] = changes.get("workload", "download")
        runs.append(
            no_result(transport, mode, "disturbed", "this machine: busy", **named)
            if number == 3
            else result(
                *(transport, mode),
                **numbers | named | changes,
            )
        )
    return render_table(compare_table(results_table(runs)), LABELS)


REQUESTS = {
    **{"answered": 74, "unanswered": 1, "delay_median_ms": 35.21},
    **{"delay_p95_ms": 401.7, "delay_max_ms": 12345.6},
}
ECHOES = {
    **{"sent": 40, "received": 40, "rtt_min_ms": 20.12},
    **{"rtt_median_ms": 23.45, "rtt_max_ms": 1234.56},
}


def workload(kind: str, details: dict[str, float]) -> Sheet:
    changes = {"workload": kind, "details": details, "goodput_mbps": None, "capacity_share": None}
    return comparison(["batch", "least-delay"], 2, **changes)


def flows() -> Sheet:
    each = {"transport": "mpquic-picoquic", "mode": "multipath", "completion_s": 181.23}
    return run._flows({"flows": [each | {"goodput_mbps": 12.34}, each | {"goodput_mbps": None}]})


def round_trips() -> Sheet:
    trip = {"leg": 12, "backhaul": 11, "sent": 10_000, "received": 10_000, "minimum_ms": 1234.5}
    times = {"mean_ms": 2345.6, "maximum_ms": 34567.8, "serialisation_ms": None}
    return run._round_trips({"round_trips": [trip | times] * 2})


def drive(table: Callable[[Any], Sheet], channels: int) -> Sheet:
    mbps = tuple((10.0 + number,) * 60 for number in range(channels))
    names = tuple(f"OPERATOR-{number}" for number in range(channels))
    used = tuple((f"c{number}",) * 60 for number in range(channels))
    return table(channel_statistics(Capacities("a-drive-with-a-long-name", names, mbps, used)))


def quantities() -> Sheet:
    pytest.importorskip("mininet.net")
    from minitopo_dc.cli import calibrate
    from minitopo_dc.real.run.calibration import Losses, Quantity

    lost = Losses(packets=4733, mean=4.733, variance=4.73, ideal=0, measured=12)
    return calibrate._table(
        [
            Quantity(1, "rate", "Mbit/s", 1234.5, 1234.5, 1199.123),
            Quantity(1, "delay, standard deviation", "ms", None, 1.0012345, 1.12345),
            Quantity(12, "loss", "%", 0.1, 0.0, 0.2535, lost),
        ]
    )


def limits() -> Sheet:
    from minitopo_dc.cli import calibrate

    shares = {"told_share": 0.99, "told_low": 0.96, "told_high": 1.0}
    counts = {"runs": 10_000, "wrong": 1380, "told": 1370, "alarms": 540, "worst_untold": 0.0563}
    return calibrate._detection_sheet([{"disturbance": "all disturbances"} | counts | shares])


SHEETS: dict[str, Callable[[], Sheet]] = {
    "compare": lambda: comparison(["batch", "least-delay"], 2),
    "compare, many splits": lambda: comparison([f"{LONG} {number}" for number in range(9)], 2),
    "compare, many legs": lambda: comparison([""], 9),
    "compare, requests": lambda: workload("request-response", REQUESTS),
    "compare, pings": lambda: workload("ping", ECHOES),
    "run, flows": flows,
    "run, pings": round_trips,
    "calibrate": quantities,
    "calibrate --disturb": limits,
    "trace cells, cells": lambda: drive(trace._cells_table, 2),
    "trace cells, many cells": lambda: drive(trace._cells_table, 30),
    "trace cells, capacity": lambda: drive(trace._capacity_table, 3),
}


@pytest.mark.parametrize("name", SHEETS)
def test_nothing_of_a_table_is_cut(name: str) -> None:
    sheet = SHEETS[name]()
    check(rendered(sheet, WIDTH), rendered(sheet, WIDE))


def printed(
    tell: Callable[[], object],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> tuple[str, str]:
    found = []
    for width in (WIDTH, WIDE):
        monkeypatch.setenv("COLUMNS", str(width))
        tell()
        found.append(capsys.readouterr().out)
    return found[0], found[1]


def beside() -> None:
    rows = pd.DataFrame(
        [(f"an-experiment-with-a-long-name {LONG}", 1.23e3, 2.34e-4, -1e3, -2e3, 3e3, 99)],
        columns=["row", "first", "second", "difference", "low", "high", "pairs"],
    )
    Console().print(show._sheet(rows, "delay_median_ms"))


@pytest.mark.parametrize("tell", [beside, template._list])
def test_nothing_of_what_a_command_prints_is_cut(
    tell: Callable[[], None],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    check(*printed(tell, capsys, monkeypatch))


def test_what_check_prints_is_not_cut() -> None:
    pytest.importorskip("mininet.net")
    from minitopo_dc.cli.check import report
    from minitopo_dc.real.machine.preflight import Finding

    names = ("kernel module nfnetlink_queue", "Python module netfilterqueue", "tool iptables")
    detail = "is missing, and without it no packet can be held until its leg lets it go"
    findings = [
        Finding(name, "missing", detail, enables="element", remedy="apt-get install it")
        for name in names
    ]
    check(report(findings, WIDTH).plain, report(findings, WIDE).plain)


def test_flows_have_jains_index_below_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flow = {"mode": "dc", "transport": "quic", "goodput_mbps": 12.0, "completion_s": 4.0}
    several = result(mode="flows", details={"flows": [flow, flow], "jain_index": 1.0})
    run.tell_run(several, tmp_path, as_json=False)
    assert "Jain's fairness index of the flows: 1.000" in capsys.readouterr().out


def test_what_does_not_fit_is_a_record_with_units() -> None:
    heads = [
        Head("mode", text=True),
        Head("runs", text=True),
        *(Head(f"leg {n}", "MB") for n in range(9)),
    ]
    sheet = Sheet(heads)
    sheet.add("dc", "3 ok", *("12.3",) * 8, "48.2 kB")
    lines = [line.rstrip() for line in rendered(sheet, 40).splitlines()]
    assert lines[:2] == ["dc 3 ok", "    leg 0 12.3 MB, leg 1 12.3 MB, leg 2"]
    assert lines[-1].endswith("leg 8 48.2 kB")


def test_a_flow_of_requests_has_its_delays_beside_the_goodput_of_another(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    common = {"mode": "dc", "transport": "quic", "completion_s": 4.0}
    download = common | {"goodput_mbps": 12.0, "workload": "download"}
    asking = common | {"goodput_mbps": None, "workload": "request-response"}
    asking |= {"answered": 75, "unanswered": 0, "delay_median_ms": 31.25}
    several = result(mode="flows", goodput_mbps=None, details={"flows": [download, asking]})
    run.tell_run(several, tmp_path, as_json=False)
    printed = capsys.readouterr().out.splitlines()
    rows = [line.split() for line in printed if line.startswith("flow ")]
    assert [row[4:] for row in rows[-2:]] == [
        ["12.0", "4.00", *"---"],
        ["-", "4.00", "75", "0", "31.2"],
    ]


def test_runs_of_several_workloads_have_the_columns_of_each() -> None:
    delays = {"answered": 75, "unanswered": 0, "delay_median_ms": 31.25}
    asking = result(
        mode="multipath", workload="request-response", goodput_mbps=None, details=delays
    )
    table = compare_table(results_table([result(), asking]))
    assert table["goodput_mbps"].tolist()[0] == 20.0
    assert table["delay_median_ms"].tolist()[1] == 31.25
    assert {"goodput", "median delay"} <= {
        " ".join(h.name.split()) for h in render_table(table).heads
    }
