"""Time series of one run, with time counted from the elements' start, and of many runs as a table.

docs/results.md has those of a run, docs/data-model.md the tables of many.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count, pairwise, takewhile
from pathlib import Path
from typing import Any, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd

from minitopo_dc.fields import Direction
from minitopo_dc.results import files
from minitopo_dc.results.files import ResultError
from minitopo_dc.results.run_result import ENDS, flow_directory
from minitopo_dc.units import NS_PER_S
from minitopo_dc.workloads import workload_names
from minitopo_dc.workloads.path_reports import COLUMNS

Numbers = npt.NDArray[np.float64]
BIN_S = 0.5
"""The default width of bins in s: long against a round trip of the papers' legs (20 ms), short
against a change of an LTE cell's capacity in the traces (sampled once a second)."""
RATE_BIN_S = 0.2
"""That of legs' and paths' rates, two samples of the default interval: with one, rates would show
where in it the samples were."""
MAX_BINS = 10_000_000
"""The most bins, a day at 10 ms: more come from a wrong time."""
ELEMENT_SERIES = ("legs", "transmit", "receive")
"""An element's series, the last one of the host that receives."""
RUN_SERIES = ("client-rate", "connections", "paths", "handovers", "packets", "packet-delays")
"""Files of a run's directory, without their `.csv`."""
TCP_INFO = "tcp-info"
"""The file of each flow with its TCP samples, as a workload's rows are."""
TEXTS = ("state", "direction", "event")
"""Columns that hold texts."""
KEYS = (
    *("time_s", "sent_s", "direction", "flow", "leg", "backhaul", "bearer", "path", "client_port"),
    "packet",
)
"""Columns that are kept whatever is chosen: the time, and what a row belongs to."""
CONGESTION = ("time_s", "path", "cwnd_bytes", "smoothed_rtt_ms")
"""Columns of `congestion_series`."""


def client_rate(run: Path | str, bin_s: float = BIN_S) -> pd.DataFrame:
    """Return the mean rate at which IP bytes reached the client, in bins of `bin_s`.

    Columns: `time_s`, the begin of a bin, and `rate_mbps`. Between two samples of the
    cumulative count the bytes are spread evenly; after the last one nothing arrives. So the bins
    together hold every byte, and the last bin is low where the transfer ended within it.

    Raises:
        ResultError: `client-rate.csv` is missing or broken, or its times or counts go backwards.
    """
    if not bin_s > 0:
        raise ValueError(f"bin_s: {bin_s}; allowed: above 0")
    path = Path(run) / "client-rate.csv"
    samples = _read(path, ["time_s", "received_bytes"])
    times, counts = (_ascending(path, samples[name]) for name in ("time_s", "received_bytes"))
    if times.size == 0:
        return pd.DataFrame({"time_s": times, "rate_mbps": counts})
    edges = bin_edges(path, times[-1], bin_s)
    received = np.interp(edges, times, counts)
    received[0], received[-1] = 0, counts[-1]
    return _rates(edges, received)


def _rates(edges: Numbers, delivered: Any, **keys: Any) -> pd.DataFrame:
    """Return the rates in bins by the bytes that were delivered until each edge of them."""
    mbps = np.diff(delivered) * 8 / (edges[1] - edges[0]) / 1e6
    return pd.DataFrame({"time_s": edges[:-1], **keys, "rate_mbps": mbps})


def bin_edges(path: Path, end_s: float, bin_s: float) -> np.ndarray[tuple[int], np.dtype[Any]]:
    """Return the edges of bins of `bin_s` from 0 to a series' end or beyond: one bin or more.

    Raises:
        ResultError: there are too many, by a wrong time in the file `path`.
    """
    bins = max(1.0, np.ceil(end_s / bin_s))
    if not bins <= MAX_BINS:
        raise ResultError(
            f"{path}: ends after {end_s:g} s; allowed: {MAX_BINS:,} bins of {bin_s:g} s"
        )
    return np.arange(bins + 1) * bin_s


def leg_series(run: Path | str, direction: Direction = "downlink") -> pd.DataFrame:
    """Return the legs' counters: `gnb-legs.csv`, uplink `ue-legs.csv`, with `time_s` for `time_ns`.

    One row per interval and `leg`; the other columns are the leg's statistics, cumulative except
    for the gauges. Rows from before the start have a negative time.

    Raises:
        ResultError: this file or the element's summary is missing (its element died) or broken.
    """
    return element_series(Path(run), ENDS[direction][0], "legs", "leg", "delivered_bytes")


def pdcp_series(run: Path | str) -> pd.DataFrame:
    """Return the counters of ue's receiving PDCP entities: `ue-receive.csv` with `time_s`.

    One row per interval and `bearer`, otherwise as `leg_series`. Only runs over DC have the file.

    Raises:
        ResultError: `ue-receive.csv` or `ue-summary.json` is missing or broken.
    """
    return element_series(Path(run), "ue", "receive", "bearer")


def element_series(run: Path, host: str, name: str, *columns: str) -> pd.DataFrame:
    """Return `HOST-NAME.csv` with `time_s` for `time_ns`; it has to have these columns.

    Raises:
        ResultError: the file or the host's summary is missing or broken.
    """
    table = _read(run / f"{host}-{name}.csv", ["time_ns", *columns])
    # Subtracted as integers: a float cannot hold the ns of a clock that has run for months.
    elapsed = table.pop("time_ns").to_numpy() - start_ns(run / f"{host}-summary.json")
    table.insert(0, "time_s", elapsed / NS_PER_S)
    return table


def start_ns(path: Path) -> int:
    """Return when an element was started, by its summary: ns on the clock of its files.

    Raises:
        ResultError: the summary is missing or broken.
    """
    start = files.read_mapping(path.parent, path).get("start_ns")
    if not isinstance(start, int) or isinstance(start, bool):
        raise ResultError(f"{path}: start_ns: {start!r}; allowed: a number of ns")
    return start


def leg_rates(
    run: Path | str, direction: Direction = "downlink", bin_s: float = RATE_BIN_S
) -> pd.DataFrame:
    """Return the mean rate of the IP bytes that each leg delivered, in bins of `bin_s`.

    Columns: `time_s`, the begin of a bin, `leg` and `rate_mbps`. Between two samples the bytes are
    spread evenly; after the last one there are none.

    Raises:
        ResultError: a file of the element's is missing or broken.
    """
    run = Path(run)
    series = leg_series(run, direction)
    edges = bin_edges(run, series["time_s"].max() if len(series) else 0.0, bin_s)
    tables = [
        _rates(edges, np.interp(edges, rows["time_s"], rows["delivered_bytes"]), leg=leg)
        for leg, rows in series.groupby("leg")
    ]
    return pd.concat(tables, ignore_index=True)


def path_series(run: Path | str) -> pd.DataFrame:
    """Return the rows of `paths.csv` (docs/results.md); NaN for what a transport does not know.

    Raises:
        ResultError: the file is missing or broken, or lacks a column.
    """
    return files.read_numbers(Path(run), "paths.csv", (name for name in COLUMNS if name != "state"))


def path_rates(run: Path | str, bin_s: float = RATE_BIN_S) -> pd.DataFrame:
    """Return the goodput over the paths of each leg in bins of `bin_s`.

    Columns: `time_s`, the begin of a bin, `flow` and `leg` (1, 2, ...), `rate_mbps`. Bytes count
    when the sender learns that they arrived (`bytes_acked`). Between two samples of a path they are
    spread evenly; before its first sample and after its last one there are none.

    Raises:
        ResultError: `paths.csv` is missing or broken.
    """
    series = path_series(run)
    end = series["time_s"].max() if len(series) else 0.0
    edges = bin_edges(Path(run) / "paths.csv", end, bin_s)
    tables = []
    for (flow, leg), rows in series.groupby(["flow", "leg"]):
        acked = np.zeros_like(edges)
        for _, path in rows.dropna(subset="bytes_acked").groupby("path"):
            acked += np.interp(edges, path["time_s"], path["bytes_acked"], left=0.0)
        tables.append(_rates(edges, acked, flow=flow, leg=leg))
    columns = ["time_s", "flow", "leg", "rate_mbps"]
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=columns)


def read_segments(run: Path) -> pd.DataFrame:
    """Return the segments of a run of workload `video`, as `video.csv` has them.

    Raises:
        ResultError: the file is missing or broken.
    """
    return files.read_numbers(run, "video.csv", ("done_s", "buffer_s", "stall_s", "bitrate_mbps"))


def buffer_over_time(segments: pd.DataFrame) -> tuple[Numbers, Numbers]:
    """Return times (s) and what there is to be played then (s), as corners of a line.

    A segment that arrives adds what it plays. In between the buffer is played out, one second in
    each second, and stays empty while the picture stands still.
    """
    rows = segments[["done_s", "buffer_s", "stall_s"]].to_numpy(dtype=float).tolist()
    corners = [(rows[0][0], 0.0)] if rows else []
    for (done, level, _), (after, _, stall) in pairwise(rows):
        corners.append((done, level))
        if stall > 0:
            corners.append((done + level, 0.0))
        corners.append((after, max(0.0, level - (after - done))))
    corners += [(done, level) for done, level, _ in rows[-1:]]
    times, levels = np.array(corners, dtype=float).reshape(-1, 2).T
    return times, levels


def load_series(
    runs: pd.DataFrame, name: str, columns: Sequence[str] | None = None
) -> pd.DataFrame:
    """Read a time series of all runs into one table.

    Each row has its run's labels and `seed`. A label called like a column of the series has `run.`
    before its name. Runs that did not record the series have no rows.

    Args:
        runs: rows of a table of runs (`minitopo_dc.load`).
        name: `legs`, `transmit`, `receive`, `client-rate`, `connections`, `paths`, `handovers`,
            `packets`, `packet-delays`, `tcp-info`, or a workload with rows: `ping`, ...
        columns: columns of the series; None: all. Those of `KEYS` are there in any case.

    Raises:
        ResultError: no run has the series, a file is broken, or a column is not there.
    """
    known = (*ELEMENT_SERIES, *RUN_SERIES, TCP_INFO, *workload_names())
    if name not in known:
        raise ResultError(f"no series {name}; allowed: {', '.join(known)}")
    labels, frames = _labels(runs), []
    for row, place in enumerate(runs["run"]):
        run = Path(runs.attrs["directory"]) / place
        for frame in _frames(run, name):
            names = {label: f"run.{label}" for label in labels if label in frame}
            repeated = labels.iloc[[row] * len(frame)].reset_index(drop=True)
            chosen = _chosen(frame, columns, run)
            frames.append(pd.concat([repeated.rename(columns=names), chosen], axis=1))
    if not frames:
        raise ResultError(f"{name}: none of {len(runs)} runs recorded it")
    return pd.concat(frames, ignore_index=True)


def _labels(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the labels that tell runs apart, a row each; texts are categories of a byte or two."""
    labels = runs[[*runs.attrs["labels"], "seed"]]
    texts = [name for name in labels if not pd.api.types.is_numeric_dtype(labels[name])]
    return labels.astype(dict.fromkeys(texts, "category"))


def _chosen(frame: pd.DataFrame, columns: Sequence[str] | None, run: Path) -> pd.DataFrame:
    if columns is None:
        return frame
    for name in columns:
        if name not in frame:
            raise ResultError(f"{run}: no column {name}; allowed: {', '.join(map(str, frame))}")
    return frame[[name for name in frame if name in columns or name in KEYS]]


def _frames(run: Path, name: str) -> Iterator[pd.DataFrame]:
    if name in ELEMENT_SERIES:
        for direction, hosts in ENDS.items():
            host = hosts[name == "receive"]
            if (run / f"{host}-{name}.csv").exists():
                table = element_series(run, host, name, "leg" if name == "legs" else "bearer")
                both = pd.CategoricalDtype(list(get_args(Direction)))
                table.insert(1, "direction", pd.Series([direction] * len(table), dtype=both))
                yield table
    elif name in RUN_SERIES:
        if (run / f"{name}.csv").exists():
            yield _in_seconds(_table(run, run / f"{name}.csv"), 0)
    else:
        for number, directory in _flows(run):
            path = directory / f"{name}.csv"
            if path.exists():
                begin = start_ns(run / "gnb-summary.json") if name == TCP_INFO else 0
                table = _in_seconds(_table(run, path), begin)
                table.insert(0, "flow", number)
                yield table


def _flows(run: Path) -> Iterator[tuple[int, Path]]:
    yield 1, run
    folders = (flow_directory(run, number, alone=False) for number in count(1))
    yield from enumerate(takewhile(Path.is_dir, folders), start=1)


def _table(run: Path, path: Path) -> pd.DataFrame:
    table = files.read_csv(run, path)
    return files.to_numbers(path, table, [str(name) for name in table if name not in TEXTS])


def _in_seconds(table: pd.DataFrame, begin_ns: int) -> pd.DataFrame:
    if "time_ns" in table:
        elapsed = (table.pop("time_ns") - begin_ns) / NS_PER_S
        table.insert(0, "time_s", elapsed)
    return table


def _read(path: Path, columns: list[str]) -> pd.DataFrame:
    table = files.read_csv(path.parent, path)
    return files.to_numbers(path, table, dict.fromkeys([*columns, *map(str, table)]), gaps=False)


def _ascending(path: Path, column: pd.Series[Any]) -> Numbers:
    """Return times or counts; refuse those that begin below 0 or decrease."""
    values = column.to_numpy(dtype=float)
    back = np.diff(values, prepend=0.0) < 0
    if back.any():
        row = int(back.argmax())
        allowed = "no less than the line before, and never below 0"
        raise ResultError(
            f"{path}: line {row + 2}: {column.name}: {values[row]:g}; allowed: {allowed}"
        )
    return values


def congestion_series(run: Path) -> pd.DataFrame:
    """Return `time_s`, `path` (1, 2, ...), `cwnd_bytes` and `smoothed_rtt_ms` of the first flow.

    There are no rows when the run recorded none, as with a single path on the real clock.

    Raises:
        ResultError: a file is broken.
    """
    if (run / "paths.csv").exists():
        samples = path_series(run)
        samples = samples[samples["state"] == "open"].assign(path=samples["path"] + 1)
    elif (run / "connections.csv").exists():
        names = ["flow", "time_s", "cwnd_bytes", "smoothed_rtt_ms"]
        numbers = files.read_numbers(run, "connections.csv", names)[names].astype(float)
        samples = numbers.dropna(subset="cwnd_bytes").assign(path=1)
    else:
        return pd.DataFrame(columns=[*CONGESTION], dtype=float)
    return samples.loc[samples["flow"] == 1, [*CONGESTION]].reset_index(drop=True)
