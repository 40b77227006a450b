"""The result of a run, how its metrics are computed, and the directory that keeps it.

A run's directory holds:

* `scenario.yaml`, `environment.json` (versions, kernel) and `result.json`
* `client-rate.csv`: `time_s`, and `received_bytes`, the IP bytes that have reached the client
* `KIND.csv` for a workload with rows (requests, echoes)
* for each of gnb and ue the files of its element: `*-legs.csv`, `*-transmit.csv`, `*-receive.csv`,
  `*-summary.json`
* the logs of all processes

With several flows, the rows and logs of each are in `flow-1`, `flow-2`, ...

Time zero is the start of the elements and of all traces. It is `start_ns` of an element's summary,
so that `time_ns - start_ns` is the time since then. A client begins to connect `started_s` after
time zero (in `details`; 0 if it is not known, as on the virtual clock).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, Self

from pydantic import ConfigDict, TypeAdapter

from minitopo_dc.fields import Direction
from minitopo_dc.files import VERSION_FILE, parse_json, read_text, write_json, write_version
from minitopo_dc.scenario import CellSettings, Leg
from minitopo_dc.units import NS_PER_S
from minitopo_dc.workloads import Workload

if TYPE_CHECKING:
    import pandas as pd


def goodput_mbps(size_bytes: int, completion_s: float) -> float:
    """Return the goodput in Mbit/s: 8 * size_bytes / completion_s / 10^6.

    It counts the bits that the application asked for, each once and no headers (RFC 2647, section
    3.17), over the whole transfer including its handshake.

    Raises:
        ValueError: the completion time is not positive.
    """
    if not completion_s > 0:
        raise ValueError(f"completion_s: {completion_s}; allowed: above 0")
    return size_bytes * 8 / completion_s / 1e6


def capacity_share(size_bytes: int, available_bits: int) -> float:
    """Return the part of the legs' capacity that became goodput: 8 * size_bytes / available_bits.

    `available_bits` are what all legs together could have carried during the transfer. Headers take
    a few per cent of them, so 1 is out of reach.

    Raises:
        ValueError: no bits were available.
    """
    if available_bits <= 0:
        raise ValueError(f"available_bits: {available_bits}; allowed: above 0")
    return size_bytes * 8 / available_bits


def jain_index(goodputs: Sequence[float]) -> float:
    """Return Jain's fairness index: (sum x)^2 / (n sum x^2), from 1/n (one has all) to 1 (equal).

    R. Jain, D. Chiu, W. Hawe: "A quantitative measure of fairness and discrimination for resource
    allocation in shared computer systems", DEC-TR-301, 1984.

    Raises:
        ValueError: there is no goodput above 0, so that nothing was shared.
    """
    squares = sum(goodput * goodput for goodput in goodputs)
    if not squares:
        raise ValueError("goodputs: none is above 0")
    return sum(goodputs) ** 2 / (len(goodputs) * squares)


def capacity_over_time(legs: Sequence[Leg], seconds: float, step_s: float = 0.5) -> pd.DataFrame:
    """Return the means in steps of `step_s` of what downlinks could carry (`available_bits`).

    Columns: `time_s`, and `leg_1_mbps`, ...
    """
    import pandas as pd  # noqa: PLC0415  # most runs make no figure, and it takes half a second

    step = round(step_s * NS_PER_S)
    edges = range(0, max(1, round(seconds * NS_PER_S)) + step, step)
    table = {"time_s": [start / NS_PER_S for start in edges[:-1]]}
    for number, leg in enumerate(legs, start=1):
        bits = leg.direction("downlink").available_bits(edges)
        table[f"leg_{number}_mbps"] = [count / step_s / 1e6 for count in bits]
    return pd.DataFrame(table)


def available_bits(
    legs: Sequence[Leg],
    ways: Sequence[Direction],
    start_s: float,
    end_s: float,
    *,
    shared: Sequence[CellSettings] = (),
) -> list[int]:
    """Return the bits that each leg could have carried from one moment to another.

    Background users of cells do not count.

    Args:
        legs: in their order.
        ways: the directions that count, whose bits are added up (`Scenario.loads`).
        start_s: start of the interval, in s since the elements' start, which is time zero of
            traces.
        end_s: end of the interval, in the same unit.
        shared: cells whose legs, which are never idle, have an equal part of them each; legs of
            others have them alone.
    """
    edges = [round(moment * NS_PER_S) for moment in (start_s, end_s)]
    users = {leg: len(cell.legs) for cell in shared for leg in cell.legs}
    return [
        sum(
            bits // (users.get(number, 1) if way == "downlink" else 1)
            for way in ways
            for bits in leg.direction(way).available_bits(edges)
        )
        for number, leg in enumerate(legs, start=1)
    ]


MAX_BYTES = 16 << 20
"""The most bytes of `result.json` and its like: 64 flows with all their numbers have less than 1
MB."""
Status = Literal["ok", "failed", "disturbed", "unsupported"]
"""The outcome of a run; `disturbed`: the machine had too much part in the numbers
(`minitopo_dc.results.trust`)."""


NUMBERS: Final = ("goodput_mbps", "completion_s", "capacity_share")
"""Fields of a result that only a run with status `ok` has; a download has all of them."""
SETTINGS: Final[Mapping[str, tuple[str, ...]]] = {
    "leg": ("sc",),
    "pdcp.split": ("dc", "atsss"),
    "pdcp.t_reordering_ms": ("dc", "dc-duplicate"),
}
"""Fields of a scenario, by their paths, that are columns of every run; the modes they are of."""
DESYNCHRONISED: Final = "desynchronised_pdus"
"""The detail that tells how many PDUs, of both directions, were taken for others with the same SN.
Only the virtual clock knows them; there a run without this detail has none."""
CAUTIONS: Final = "cautions"
"""The detail that has what is to be known of the scenario (`minitopo_dc.runs.needs`)."""
ATTEMPTS: Final = {"failed": "failed_attempts", "disturbed": "disturbed_attempts"}
"""The details with the reasons of the attempts before the one that counts."""
FINE: Final = ("ok", "unsupported")
"""The statuses with which a command ends well: for an unsupported run the reason was printed."""
NOTHING_RAN: Final = 3
"""The exit status of a command whose runs are all unsupported here."""


def exit_status(statuses: Collection[str]) -> int:
    """Return 0 when all runs are ok or unsupported, 1 when one is neither, 3 when none is ok."""
    if not all(status in FINE for status in statuses):
        return 1
    return NOTHING_RAN if statuses and "ok" not in statuses else 0


@dataclass(frozen=True)
class RunResult:
    """One row of results; without status `ok` it has no numbers, only a reason."""

    transport: str
    mode: str
    status: Status
    reason: str
    seed: int
    size_bytes: int
    """The bytes that all flows asked for together; for an ok run those that arrived. 0 for a timed
    workload."""
    congestion_control: str
    workload: str = "download"
    clock: Literal["real", "virtual"] = "real"
    goodput_mbps: float | None = None
    """Bits of the content divided by the completion time, in Mbit/s; of downloads only."""
    completion_s: float | None = None
    """From the client's start of connecting to its last byte or its duration's end, in s."""
    leg_bytes: list[int] | None = None
    """The IP bytes that each leg delivered downlink, until connections are closed."""
    capacity_share: float | None = None
    """Bits of the content divided by what all legs together could have carried meanwhile."""
    directory: str = ""
    settings: dict[str, Any] = field(default_factory=dict)
    """The scenario's values of the fields in `SETTINGS`; None for those of other modes."""
    details: dict[str, Any] = field(default_factory=dict)
    __pydantic_config__: ClassVar = ConfigDict(extra="forbid")

    @property
    def measures(self) -> dict[str, float]:
        """Return the numbers of a run that is ok, by the names that a table's columns have.

        These are `NUMBERS`, `leg_bytes_1`, ..., the numbers in `details`, and those of several
        flows as `flow_1_goodput_mbps`, ... A detail that has the name of another column is
        `client_NAME`: the HTTP `status` that a client got is `client_status`.
        """
        if self.status != "ok":
            return {}
        own = {name: value for name, value in self.details.items() if name not in NUMBERS}
        values = {f"client_{k}" if k in COLUMNS else k: v for k, v in own.items()}
        for number, flow in enumerate(self.details.get("flows", ()), start=1):
            values |= {f"flow_{number}_{name}": value for name, value in flow.items()}
        for number, count in enumerate(self.leg_bytes or (), start=1):
            values[f"leg_bytes_{number}"] = count
        values |= {name: getattr(self, name) for name in NUMBERS}
        return {
            name: value
            for name, value in values.items()
            if isinstance(value, int | float) and not isinstance(value, bool)
        }

    def save(self, directory: Path, *, synced: bool = True) -> None:
        """Write `result.json` at once: a reader sees all of it or none (`files.write_whole`)."""
        if not (directory / VERSION_FILE).exists():
            write_version(directory)
        write_json(directory / "result.json", vars(self), synced=synced)

    @classmethod
    def load(cls, directory: Path) -> RunResult:
        """Read a run's result; raise OSError or ValueError when there is none, or it is broken."""
        text = read_text(directory / "result.json", MAX_BYTES, within=directory)
        parse_json(text)  # refuses what no table can hold
        return _SCHEMA.validate_json(text, strict=True)


_SCHEMA = TypeAdapter(RunResult)
COLUMNS: Final = frozenset(field.name for field in fields(RunResult)) | {
    *("id", "run", "experiments", "configuration", "trust", "repeats")
}
"""Columns of every table of runs, whose names no detail takes."""


SIZE: Final = "size_bytes"
"""The bytes of use: of a download, of what was watched, of frames in time."""
DETAILS: Final = ("started_s", "client_cpu_s", "server_cpu_s", "wall_s")
"""Measures of most runs that are none of their workload."""


def measure_names(legs: int, workloads: Sequence[Workload], *, alone: bool) -> Iterator[str]:
    """Yield the names of the measures that a scenario's runs are known to have, some maybe twice.

    A runner may report more of them.

    Args:
        legs: how many there are.
        workloads: that of each flow.
        alone: whether the scenario is its one flow, whose measures then have no number.
    """
    yield from NUMBERS
    yield from (f"leg_bytes_{number}" for number in range(1, legs + 1))
    yield SIZE
    if alone:
        yield from (name for name in workloads[0].reported_measures if name not in COLUMNS)
        yield from DETAILS
        return
    for number, workload in enumerate(workloads, start=1):
        names = ("goodput_mbps", "completion_s", "bytes_received", *workload.reported_measures)
        yield from (f"flow_{number}_{name}" for name in names)
    yield from ("jain_index", "wall_s")


def flow_windows(details: Mapping[str, Any], completion_s: float) -> list[tuple[float, float]]:
    """Return when each flow's client began to connect and ended, in s since the elements' start.

    Args:
        details: the details of a result that is ok.
        completion_s: its completion time.
    """
    flows = details.get("flows") or [{**details, "completion_s": completion_s}]
    starts = [float(flow.get("started_s", 0.0)) for flow in flows]
    return [
        (start, start + flow["completion_s"]) for start, flow in zip(starts, flows, strict=True)
    ]


def flow_directory(run: Path, number: int, *, alone: bool) -> Path:
    """Return where a flow (1, 2, ...) keeps its logs: in the run's directory when it is `alone`."""
    return run if alone else run / f"flow-{number}"


def of_first_flow(run: Path, name: str) -> Path | None:
    """Return the path of a file or directory that a run's first flow kept; None if it has not."""
    paths = (flow_directory(run, 1, alone=alone) / name for alone in (True, False))
    return next((path for path in paths if path.exists()), None)


ENDS: Mapping[Direction, tuple[str, str]] = {"downlink": ("gnb", "ue"), "uplink": ("ue", "gnb")}
"""The host that sends on the legs, and the one that receives."""


@dataclass(frozen=True, slots=True)
class ProgramResult:
    """The result of a program's run; without status `ok` it has a reason and no numbers."""

    command: tuple[str, ...]
    host: str
    server: tuple[str, ...]
    mode: str
    status: Literal["ok", "failed"] = "failed"
    """Whether the path was what it was to be; of the program only its own exit status tells."""
    reason: str = ""
    exit_status: int | None = None
    """The program's; 128 and the number of the signal that ended it."""
    server_exit_code: int | None = None
    """Of a server that ended by itself."""
    seconds: float | None = None
    """From the program's start, which is the elements' too, to its end."""
    legs: tuple[Mapping[Direction, Mapping[str, float]], ...] = ()
    """Of each leg in both directions: the IP `bytes` that it delivered, all headers included,
    `mbps`, the same in Mbit/s over the program's time, and the packets that it `dropped`."""
    pdcp: Mapping[Direction, dict[str, Any]] = field(default_factory=dict)
    """All counters of the receiving entity of each direction that has a bearer."""

    def ended(
        self,
        summaries: Mapping[str, Mapping[str, Any]],
        seconds: float,
        code: int,
        server_code: int | None,
    ) -> Self:
        """Return the result of a program that ended, while its path was what it was to be.

        Args:
            summaries: of the elements, by their hosts.
            seconds: from its start to its end.
            code: its exit code, or a signal's number below 0.
            server_code: the same of a server that ended by itself; None: it did not.
        """
        sends = {way: summaries[sender]["legs"] for way, (sender, _) in ENDS.items()}
        gets = {way: summaries[receiver]["receive"] for way, (_, receiver) in ENDS.items()}
        return replace(
            self,
            status="ok",
            exit_status=code if code >= 0 else 128 - code,
            server_exit_code=server_code,
            seconds=seconds,
            legs=tuple(
                {way: _leg_count(legs[number], seconds) for way, legs in sends.items()}
                for number in sorted(sends["downlink"], key=int)
            ),
            pdcp={way: dict(one) for way, bearers in gets.items() for one in bearers.values()},
        )

    def save(self, directory: Path) -> None:
        """Write `exec.json` at once, so that a reader sees all of it or none."""
        write_json(directory / "exec.json", asdict(self))


def _leg_count(counters: Mapping[str, Any], seconds: float) -> dict[str, float]:
    delivered = int(counters["delivered_bytes"])
    dropped = sum(value for name, value in counters.items() if name.startswith("dropped_"))
    return {"bytes": delivered, "mbps": goodput_mbps(delivered, seconds), "dropped": dropped}
