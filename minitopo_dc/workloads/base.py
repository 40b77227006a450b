"""The contract of a workload with the code that asks for it, carries it, judges it or shows it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

from pydantic import PlainSerializer, PlainValidator, SerializationInfo

from minitopo_dc.fields import Direction, Settings, SettingsError
from minitopo_dc.numbers import significant
from minitopo_dc.registry import Registry
from minitopo_dc.workloads.exchange import Answers, Client, ContentServer, Requests, Server
from minitopo_dc.workloads.path_reports import PathSample

Row = Mapping[str, int | float | None]


@dataclass(frozen=True, slots=True)
class Measurement:
    """The results that a flow measured.

    Attributes:
        bytes_received: of the content that was asked for.
        completion_s: from the client's start of connecting to the last byte, or to where the
            workload's time stopped it.
        details: further numbers and facts, by name; JSON can hold them.
        started_ns: the client's start of connecting, on the machine's monotonic clock; None: as
            good as the start of its process.
        rows: one per request, echo, ...; all with the same keys.
        path_samples: of a transport with several paths on the real clock, for `paths.csv`.
    """

    bytes_received: int
    completion_s: float
    details: Mapping[str, Any] = field(default_factory=dict)
    started_ns: int | None = None
    rows: Sequence[Row] = ()
    path_samples: Sequence[PathSample] = ()

    @property
    def started_s(self) -> float:
        """Return the time (s) from the elements' start to the client's; 0 if unknown."""
        return float(self.details.get("started_s", 0.0))


def measurement(report: Mapping[str, Any], received: int, ended_s: float | None) -> Measurement:
    """Return the measurement in a client's report, which has `rows`, if any.

    Args:
        report: the client's.
        received: bytes of the content.
        ended_s: as `Measurement.completion_s`; None: 0.
    """
    details = dict(report)
    values, started_ns = details.pop("rows", ()), details.pop("started_ns", None)
    return Measurement(received, ended_s or 0.0, details, started_ns, values)


def nearest_rank(ascending: Sequence[float], share: float) -> float:
    """Return a percentile of numbers in ascending order, which is one of them."""
    return ascending[math.ceil(share * len(ascending)) - 1]


@dataclass(frozen=True, slots=True)
class Column:
    """A number of each run in the comparison's table, with three significant digits.

    Attributes:
        measure: a field of the run's result, or a key of its details.
        heading: lines, the last one the unit; of a count and a share there is none.
        count: whether it counts something.
        spread: whether the standard deviation over runs stands beside the mean.
        percent: whether a part of 1 is shown in per cent.
    """

    measure: str
    heading: str
    count: bool = False
    spread: bool = False
    percent: bool = False

    @property
    def name_and_unit(self) -> tuple[str, str]:
        """Return the lines that name it, and its unit, empty if it has none."""
        if self.count or self.percent:
            return self.heading, "%" if self.percent else ""
        name, _, unit = self.heading.rpartition("\n")
        return name, unit

    def shown(self, value: float | None) -> str:
        """Return a value as the table has it, a dash where there is none."""
        if value is None or math.isnan(value):
            return "-"
        if self.count and value == round(value):
            return str(round(value))
        return significant(100 * value if self.percent else value)

    def as_text(self, value: float | None) -> str:
        """Return a value as text with its name and unit."""
        name, unit = self.name_and_unit
        return f"{' '.join(name.split())} {self.shown(value)} {unit}".rstrip()


@dataclass(frozen=True, slots=True)
class RowsFigure:
    """A workload's rows as a figure: `y` over `x`, both columns of them.

    Attributes:
        lines: columns whose values tell one line from another; none: all rows are one line.
        words: of such a column, what each value is called; else it is `leg 1` of column `leg`.
    """

    x: str
    y: str
    x_label: str
    y_label: str
    title: str
    lines: tuple[str, ...] = ()
    words: Mapping[str, Mapping[int, str]] = field(default_factory=dict)

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the columns that it draws."""
        return (self.x, self.y, *self.lines)


class Workload(Settings):
    """What a flow's end hosts do; its fields are its parameters."""

    kind: ClassVar[str]
    """Set by the decorator `workload`."""
    columns: ClassVar[tuple[Column, ...]]
    """What its table holds, beside the bytes of each leg."""
    more_measures: ClassVar[tuple[str, ...]] = ()
    """The names of further numbers in `details`."""
    figure: ClassVar[RowsFigure | None] = None
    """None: what the client received over time."""
    has_goodput: ClassVar[bool] = True
    loads: ClassVar[tuple[Direction, ...]] = ("downlink",)
    """Directions of the legs in which the bytes, and the capacity, of a run count."""
    takes_turns: ClassVar[bool] = False
    """Whether its streams take turns also where a stack would send the first one first."""
    bare_streams: ClassVar[bool] = False
    """Whether its ends get connections of QUIC without requests (`Streams`), where they can."""

    @classmethod
    def has_ends(cls) -> bool:
        """Return whether its ends are given here, so that any transport of requests carries it."""
        return cls.make_client is not Workload.make_client

    def make_client(self, connection: Requests) -> Client:
        """Return its client on a connection that has not begun."""
        raise NotImplementedError

    def make_server(self, connection: Answers) -> Server:
        """Return its server's end of a connection."""
        return ContentServer(connection)

    def measured(self, report: Mapping[str, Any]) -> Measurement:
        """Return the measurement in the report of a client that had no error (`Outcome`)."""
        return measurement(report, report["bytes_received"], report["completion_s"])

    @classmethod
    def kinds(cls) -> tuple[str, ...]:
        """Return its kind, and those of the workloads that it extends."""
        return tuple(str(vars(each)["kind"]) for each in cls.__mro__ if "kind" in vars(each))

    def _changed_part(self, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Return its kind and fields with changes; those alone, if they name another kind."""
        if changes.get("kind", self.kind) != self.kind:
            return dict(changes)
        return {"kind": self.kind, **self._changed(changes)}

    @property
    def size_bytes(self) -> int:
        """Return the content that a client asks for, in bytes; 0 if time decides or it has none."""
        return 0

    @property
    def lasts_s(self) -> float | None:
        """Return how long it takes by itself (s), None for as long as the transport needs."""
        return None

    @property
    def reported_measures(self) -> tuple[str, ...]:
        """Return the names of the numbers that `details`, or a program, gives of it."""
        return (*(column.measure for column in self.columns), *self.more_measures)

    def obstacle(self, legs: int) -> str | None:  # noqa: ARG002 (a hook)
        """Return why it cannot be asked for over `legs` legs, None when it can."""
        return None

    def failure(self, measured: Measurement) -> str | None:
        """Return why what was measured is not what was asked for, None when it is."""
        raise NotImplementedError

    def details(self, measured: Measurement) -> dict[str, Any]:  # noqa: ARG002 (a hook)
        """Return numbers about `Measurement.rows`, for a run's `details`."""
        return {}


BUILT_IN = ("download", "request_response", "command", "video", "realtime", "under_load")
_WORKLOADS: Registry[type[Workload]] = Registry(
    "workload",
    "minitopo_dc.workloads",
    tuple(f"minitopo_dc.workloads.{name}" for name in BUILT_IN),
    attribute="kind",
)
workload = _WORKLOADS.adding
workload_names, get_workload = _WORKLOADS.names, _WORKLOADS.get
"""Return the kinds of all workloads, and a workload's class by its kind."""


def parse_workload(given: object) -> Workload:
    """Return the workload of a name, or of a mapping with its kind and parameters.

    These are `{kind: NAME, parameter: value, ...}` or `NAME` alone; `download` if unnamed.

    Raises:
        SettingsError: no such workload, or a parameter is wrong: with what is allowed.
    """
    if isinstance(given, Workload):
        return given
    values = {"kind": given} if isinstance(given, str) else given
    if not isinstance(values, Mapping):
        raise SettingsError(f"{given!r}; allowed: NAME, or kind: NAME with its parameters")
    parameters = dict(values)
    kind = parameters.pop("kind", "download")
    if kind not in workload_names():
        raise SettingsError(f"kind {kind}; allowed: {', '.join(workload_names())}")
    try:
        return get_workload(kind).check(parameters, kind)
    except SettingsError as error:
        raise SettingsError(str(error).replace("\n", "; ")) from None


def _serialise(chosen: Workload, info: SerializationInfo) -> dict[str, Any]:
    return workload_values(chosen, exclude_defaults=bool(info.exclude_defaults))


WorkloadField = Annotated[Workload, PlainValidator(parse_workload), PlainSerializer(_serialise)]
"""A field of a model: `{kind: NAME, parameter: value, ...}`; see `parse_workload`."""


def workload_values(chosen: Workload, *, exclude_defaults: bool = False) -> dict[str, Any]:
    """Return a workload as JSON can hold it, for `parse_workload`."""
    values = chosen.model_dump(mode="json", exclude_defaults=exclude_defaults)
    return {"kind": chosen.kind, **values}
