"""A user's program as the client, another as the server, and the numbers that they print."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Annotated, ClassVar, Self

from pydantic import BeforeValidator, Field, StringConstraints, field_validator, model_validator

from minitopo_dc.fields import Settings
from minitopo_dc.fields.base import LeftOut
from minitopo_dc.workloads.base import Column, Measurement, Workload, workload

PLACEHOLDERS = ("server", "client", "run", "python", "certificate", "key", "congestion_control")
"""What `{name}` in a word may name, beside `{leg_1}`, `{leg_2}`, ... (docs/your-own.md)."""
PLACEHOLDER = re.compile(r"\{(\{[a-z][a-z0-9_]*\})\}|(?<!\$)\{([a-z][a-z0-9_]*)\}", re.ASCII)
"""`{{name}}`, which is the text `{name}` itself, or `{name}`. A shell's `${name}` is neither."""
RESERVED = frozenset(
    {
        *("transport", "mode", "status", "reason", "seed", "size_bytes", "congestion_control"),
        *("trust", "repeats", "disturbed_attempts", "as_measured"),
        *("workload", "clock", "goodput_mbps", "completion_s", "leg_bytes"),
        *("capacity_share", "directory", "details", "started_s", "client_cpu_s", "server_cpu_s"),
        *("wall_s", "failed_attempts", "units", "flows", "jain_index", "id", "experiments"),
        *("reordering_wait_ms", "given_up", "recovery_s", "leg_bytes_per_byte"),
        *("lost_percent", "answer_worst_ms", "answer_p95_ms"),
        *(
            f"{part}_delay_{name}_ms"
            for part in (
                *("packet", "split", "queue", "air", "rlc", "propagation", "reordering"),
                "receive_buffer",
            )
            for name in ("median", "p95")
        ),
        *("smoothed_rtt_median_ms", "smoothed_rtt_p95_ms"),
        *("handovers_per_minute", "handover_recovery_s"),
        *("configuration", "leg", "settings"),
    }
)
RESERVED_BEGINNINGS = ("leg_bytes_", "utilisation_leg_", "flow_")
"""Names of what a run's row, its details and a campaign's measures have already."""
_LEG = re.compile(r"leg_([1-9][0-9]*)", re.ASCII)


def _word(value: object) -> object:
    """Return a number of YAML as text, as on a command line everything is text."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return str(value) if is_number else value


Word = Annotated[str, BeforeValidator(_word)]
MeasureName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$")]
ExitCode = Annotated[int, Field(ge=0, le=255)]


class Measure(Settings):
    """A number in what a program printed, or in a file that it wrote."""

    regex: str | None = None
    """With one group, which is the number; of several matches the last counts."""
    json_path: str | None = None
    """Keys and indexes with dots between: `end.sum_received.bits_per_second`, `intervals.0.x`."""
    file: str = "client.out"
    """In the run's directory; the default is the client's standard output."""
    scale: float = 1.0
    """The number is multiplied by it: 1e-6 makes Mbit/s of bit/s."""
    unit: str = ""

    @field_validator("regex")
    @classmethod
    def _check_regex(cls, regex: str | None) -> str | None:
        try:
            groups = 1 if regex is None else re.compile(regex).groups
        except re.error as error:
            raise ValueError(f"{regex!r}: {error}") from None
        if groups != 1:
            raise ValueError(f"{regex!r} has {groups} groups; allowed: one, around the number")
        return regex

    @field_validator("file")
    @classmethod
    def _check_file(cls, file: str) -> str:
        path = PurePosixPath(file)
        if path.is_absolute() or ".." in path.parts or not path.name:
            raise ValueError(f"{file!r}; allowed: a file below the run's directory ({{run}})")
        return file

    @model_validator(mode="after")
    def _check_source(self) -> Self:
        if (self.regex is None) == (self.json_path is None):
            raise ValueError("give regex or json_path")
        if self.scale == 0:
            raise ValueError("scale: 0; allowed: any other number")
        return self


@workload("command")
class Command(Workload):
    """Users' own programs; each is a list of words, which no shell reads."""

    columns: ClassVar[tuple[Column, ...]] = (Column("completion_s", "time\ns", spread=True),)
    has_goodput: ClassVar[bool] = False

    client: Annotated[tuple[Word, ...], Field(min_length=1)]
    """The program on the client's host, and its arguments. Its end is the run's."""
    server: tuple[Word, ...] = ()
    """On the server's host, started before the client; none when empty."""
    server_ready: Annotated[int, Field(ge=1, le=65535)] | None = None
    """The TCP or UDP port that the server binds when it is ready; None: it is after a moment."""
    exit_codes: Annotated[tuple[ExitCode, ...], Field(min_length=1)] = (0,)
    """How a client ends that has succeeded."""
    measures: LeftOut[dict[MeasureName, Measure]] = Field(default_factory=dict)

    @field_validator("client", "server")
    @classmethod
    def _check_placeholders(cls, words: tuple[str, ...]) -> tuple[str, ...]:
        for name in placeholders(words):
            if name not in PLACEHOLDERS and not _LEG.fullmatch(name):
                known = ", ".join(f"{{{each}}}" for each in (*PLACEHOLDERS, "leg_1"))
                raise ValueError(
                    f"{{{name}}}: no such placeholder; allowed: {known}, ...; "
                    f"{{{{{name}}}}} is the text itself"
                )
        return words

    @field_validator("measures")
    @classmethod
    def _check_names(cls, measures: dict[str, Measure]) -> dict[str, Measure]:
        for name in measures:
            if name in RESERVED or name.startswith(RESERVED_BEGINNINGS):
                raise ValueError(f"{name}: every run has such a number; choose another name")
        return measures

    @model_validator(mode="after")
    def _check_ready_server(self) -> Self:
        if self.server_ready is not None and not self.server:
            raise ValueError("server_ready: needs a server")
        return self

    def obstacle(self, legs: int) -> str | None:
        """Return an error if a word names a leg that does not exist, else None."""
        for name in placeholders((*self.client, *self.server)):
            found = _LEG.fullmatch(name)
            if found is not None and int(found[1]) > legs:
                return f"{{{name}}}: no such leg; allowed: 1 to {legs}"
        return None

    @property
    def reported_measures(self) -> tuple[str, ...]:
        """Return the names of the numbers that its programs print or write."""
        return (*super().reported_measures, *self.measures)

    def failure(self, measured: Measurement) -> str | None:  # noqa: ARG002
        """Return None, as only exit codes and measures tell a failure of users' programs."""
        return None


def placeholders(words: Iterable[str]) -> Iterator[str]:
    """Yield the names of all placeholders in these words."""
    for word in words:
        for found in PLACEHOLDER.finditer(word):
            if found[2] is not None:
                yield found[2]


def escaped(word: str) -> str:
    """Return the word without placeholders: what `filled` turns back into the word."""
    return PLACEHOLDER.sub(lambda found: f"{{{found[0]}}}", word)


def filled(word: str, values: Mapping[str, str]) -> str:
    """Return a word with the values of its placeholders."""
    return PLACEHOLDER.sub(lambda found: found[1] or values[found[2]], word)
