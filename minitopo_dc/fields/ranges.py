"""Ranges and defaults that settings share; a number outside a range is a wrong unit or a slip.

Every number of a settings class has one of these types, a `Literal`, or a range of its own, so that
no number overflows what it is converted to: whole nanoseconds, bit/s, bytes, a C int. An element
that Mininet starts takes from the defaults what its topology leaves out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import Field, ValidationError, ValidatorFunctionWrapHandler, WrapValidator
from pydantic_core import PydanticCustomError

from minitopo_dc.fields.base import error_text, quoted

DAY_S = 86_400
YEAR_S = 365 * DAY_S
MAX_MBPS = 1_000_000
"""1 Tbit/s, far above any radio; bit/s mistaken for Mbit/s are above it from 1 Mbit/s on."""
MIN_MBPS = 1e-6
"""1 bit/s: capacities are whole bit/s."""
MAX_DELAY_MS = 3_600_000
"""An hour; to Mars light takes up to 22 minutes."""
MAX_COUNT = 10**9
"""The most packets: below 2^31, so that a C int holds it."""
MAX_BYTES = 10**12
"""What two legs of 10 Gbit/s carry in 6 minutes, and more than a run can."""
MAX_SEED = 2**53
"""The greatest whole number that every JSON reader knows exactly (RFC 8259, section 6)."""
MIN_S = 1e-6
"""The shortest duration, 1 us."""


def within(
    least: float, most: float, unit: str = "", *, above: bool = False, reason: str = ""
) -> tuple[Any, Any, WrapValidator]:
    """Return a field's range, as metadata of `Annotated`; an error states the whole range.

    Args:
        least: the least that is allowed.
        most: the greatest that is allowed.
        unit: the unit of both.
        above: whether only what is above `least` is allowed.
        reason: for the message: what is mostly wrong with a number that is too large.
    """
    allowed = f"{'above ' if above else ''}{_range(least, most, unit)}"
    least_field = Field(gt=least) if above else Field(ge=least)
    return least_field, Field(le=most, description=allowed), _telling(allowed, reason)


def _range(least: float, most: float, unit: str) -> str:
    shown = (f"{end:,}" if isinstance(end, int) else f"{end:,g}" for end in (least, most))
    return f"{' to '.join(shown)} {unit}".strip()


def _telling(allowed: str, reason: str) -> WrapValidator:
    def check(value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
        try:
            return handler(value)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            why = f"; {reason}" if reason and first["type"] == "less_than_equal" else ""
            beyond = first["type"].startswith(("less_than", "greater_than"))
            what = quoted(value) if beyond else error_text(first)
            words = f"{what}; allowed: {allowed}{why}"
            raise PydanticCustomError("range", "{words}", {"words": words}) from None

    return WrapValidator(check)


Direction = Literal["downlink", "uplink"]
OPPOSITE: Mapping[Direction, Direction] = {"downlink": "uplink", "uplink": "downlink"}
"""The direction of a leg: from the network to the terminal, or back."""
IpVersion = Literal[4, 6]
Rate = Annotated[float, *within(MIN_MBPS, MAX_MBPS, "Mbit/s", reason="is it in bit/s?")]
RateOrNone = Annotated[float, *within(0, MAX_MBPS, "Mbit/s", reason="is it in bit/s?")]
"""A rate in Mbit/s; 0: nothing passes."""
Milliseconds = Annotated[float, *within(0, MAX_DELAY_MS, "ms")]
MillisecondsAbove = Annotated[float, *within(0, MAX_DELAY_MS, "ms", above=True)]
Interval = Annotated[float, *within(1, MAX_DELAY_MS, "ms")]
"""The time in ms from one report or status to the next; at least a slot of 15 kHz (TS 38.211)."""
WholeInterval = Annotated[int, *within(1, DAY_S * 1000, "ms")]
Moment = Annotated[float, *within(0, YEAR_S, "s")]
"""A time in s after the start of the transfer, or into a trace."""
MomentAbove = Annotated[float, *within(0, YEAR_S, "s", above=True)]
Seconds = Annotated[float, *within(MIN_S, DAY_S, "s")]
"""A duration in s. A day at most: far below what overflows poll(2), which counts ms in a C int."""
SecondsOrNone = Annotated[float, *within(0, DAY_S, "s")]
Percent = Annotated[float, *within(0, 100, "%")]
Probability = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, *within(1, MAX_COUNT)]
Bytes = Annotated[int, *within(1, MAX_BYTES, "bytes")]
Number = Annotated[int, *within(1, 1_000_000)]
"""The number of a leg or a bearer: the message for one that does not exist says which do."""
Seed = Annotated[int, *within(-MAX_SEED, MAX_SEED)]
Factor = Annotated[float, *within(0, MAX_COUNT)]
"""A share or a part of something."""
Dscp = Annotated[int, Field(ge=0, le=63)]
"""A differentiated services code point (RFC 2474)."""
Megabytes = Annotated[float, *within(1e-6, MAX_BYTES // 10**6, "MB (of 10^6 bytes)")]
Microseconds = Annotated[float, *within(0, 1_000_000, "us")]
RttIncrease = Annotated[float, *within(0, 100, "of the least round-trip time")]
RoundTrips = Annotated[float, *within(1, 100, "round-trip times")]
"""A number of round trips: below one, what is not yet acknowledged would be lost."""
Packets = Annotated[int, *within(1, MAX_COUNT, "packets")]
PacingGain = Annotated[float, *within(0.1, 1000, "windows per round-trip time")]
"""A gain of pacing: 1,000 is as good as none; below 0.1 a window takes more than ten round
trips."""
AckDelay = Annotated[float, *within(0, 25, "ms")]
"""The max_ack_delay of an endpoint that announces none (RFC 9000, section 18.2), as aioquic
does."""


CONGESTION_CONTROL: Final = "cubic"
"""The default of usual systems (RFC 9438, section 1), which all transports have. The papers on Dual
Connectivity have NewReno, which their campaigns name."""
RECEIVE_BUFFER_BYTES: Final = 33_554_432
"""The receive buffer of a UDP socket of QUIC: the papers' 'QUIC buffer modified' (thesis, table
4.4). TCP's buffer grows by itself, so that a comparison would measure a small one of QUIC's."""
DELAY_MS: Final = 10.0
"""The one-way delay: the papers' default point has a round trip of 20 ms (thesis, tables 4.3 and
4.4)."""
JITTER_MS: Final = 1.0
"""The standard deviation of the delay (thesis, table 4.3)."""
QUEUE_PACKETS: Final = 100
"""The queue of either direction: the papers' downlink (thesis, table 4.3). Their uplink has 10,000
(listing 4.1), which their campaigns name: the acknowledgements of a download fill neither."""
UPLINK_MBPS: Final = 20.0
"""The uplink's capacity in the papers (thesis, table 4.3)."""
REPORT_MS: Final = 20.0
"""The interval of the receiver's reports where something needs them: one per round trip of the
papers' default point, as in the campaigns here. TS 38.425 leaves it to the node that polls."""
ECHO_MS: Final = 100.0
"""The interval of echoes where a steering mode needs them: this project's choice, as often as the
time series. TS 24.193 leaves it to UE and UPF."""
