"""The example by which the API is judged, as it stands there, but with smaller downloads."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from tests import REPOSITORY
from tests.picoquic.extension import needs_picoquic

EXAMPLE = """\
import minitopo_dc as dc

lte, nr = dc.Leg(rate_mbps=20, delay_ms=30), dc.Leg(rate_mbps=80, delay_ms=10, loss_percent=0.1)
base = dc.Scenario(legs=[lte, nr], transport="quic-picoquic", mode="dc", workload=dc.Download(size_mb=10), clock="virtual")
ways = {
    "DC 1:1": base,
    "DC": base.evolve(pdcp={"split": "least-delay"}),              # a checked copy; a mapping changes fields of a field
    "MP-QUIC": base.evolve(transport="mpquic-picoquic", mode="multipath"),
}
one = dc.run(base)                                    # one run: one.goodput_mbps, one.legs (DataFrame), one.plot()
dc.compare(ways, seeds=5)                             # table, sentence with its interval, picture; in a notebook or on a terminal

cases = [(way.evolve(legs=[lte, nr.evolve(delay_ms=delay)]), {"way": name, "delay_ms": delay})
         for delay in (5, 20, 60, 120) for name, way in ways.items()]
runs = dc.Campaign("results/delay", cases, seeds=range(1, 6)).run(jobs=2)   # or executor=dask_client.get_executor()
dc.plots.curves(runs, x="delay_ms", by="way")         # mean and 95 % interval per way; Matplotlib axes, to be changed as usual

@dc.split_policy("shortest-queue")                    # its source is part of a run's digest; workers know it
class ShortestQueue: ...
"""  # noqa: E501


@needs_picoquic
@pytest.mark.slow
def test_the_example_of_the_design_runs(tmp_path: Path) -> None:
    small = EXAMPLE.replace("size_mb=10", "size_mb=0.1").replace("range(1, 6)", "(1, 2)")
    (tmp_path / "example.py").write_text(small, encoding="utf-8")
    environment = {"PYTHONPATH": str(REPOSITORY), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    command = [sys.executable, "example.py"]
    subprocess.run(command, cwd=tmp_path, env=environment, check=True, timeout=600)
    runs = pd.read_parquet(tmp_path / "results" / "delay" / "runs.parquet")
    assert runs.groupby(["way", "delay_ms"]).size().unique().tolist() == [2]
    assert set(runs["status"]) == {"ok"}
