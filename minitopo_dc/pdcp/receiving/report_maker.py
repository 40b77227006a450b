"""Reports of a receiving entity, which tell at a fixed interval what arrived on each leg."""

from __future__ import annotations

from typing import Any, Final

from minitopo_dc.pdcp.formats.codec import SnFormat
from minitopo_dc.pdcp.formats.report import HEADER_BYTES as STATUS_BYTES
from minitopo_dc.pdcp.formats.report import LegReception, Report, encode_report, report_size
from minitopo_dc.pdcp.receiving.entity import ReceivingEntity

MAX_BYTES: Final = 1500 - 40 - 8
"""Of a report with a status report: with IPv6's and UDP's header what Ethernet carries (RFC 894).

Over two legs a status report then tells of 10,888 COUNTs; over 36 or more of none but FMC.
"""


class ReportMaker:
    """Counts what arrives at a receiving entity, beside it, and makes its reports.

    Each leg counts all PDUs that arrived by it, whatever the entity did with them: also duplicates,
    and PDUs that came too late. A COUNT is the one nearest to the highest so far over all legs, so
    it does not depend on the entity's delivery, which may be off.

    Args:
        entity: whose waiting times are reported.
        sn_format: gives the length of the SN.
        legs: number of the bearer's legs.
        interval: ns from one report to the next, above 0.
        first_count: the entity's.
        with_status: whether each has the entity's status report in it.
    """

    def __init__(
        self,
        entity: ReceivingEntity[Any],
        sn_format: SnFormat,
        *,
        legs: int,
        interval: int,
        first_count: int = 0,
        with_status: bool = False,
    ) -> None:
        self._entity = entity
        self._mask = sn_format.modulus - 1
        self._window = sn_format.modulus // 2
        self._interval = interval
        self._status_bytes = max(STATUS_BYTES, MAX_BYTES - report_size(legs)) if with_status else 0
        self._due: int | None = None
        self._number = 0
        self._first_count = first_count
        self._highest = first_count  # COUNT after the highest of all legs
        self._next_counts = [0] * legs
        self._pdus = [0] * legs
        self._bytes = [0] * legs
        self.made = 0
        """Number of reports made so far."""

    def push(self, sn: int, size: int, leg: int) -> None:
        """Count a PDU with an SDU of `size` bytes that arrived on `leg`."""
        lowest = self._highest - self._window
        count = lowest + ((sn - lowest) & self._mask)
        if count < self._first_count:
            return  # nobody sent it
        self._pdus[leg] += 1
        self._bytes[leg] += size
        self._next_counts[leg] = max(self._next_counts[leg], count + 1)
        self._highest = max(self._highest, count + 1)

    def start(self, now: int) -> None:
        """Start reporting: the first report is due one interval after `now` (ns)."""
        self._due = now + self._interval

    def next_timeout(self) -> int | None:
        """Return when the next report is due (ns), None before the start."""
        return self._due

    def poll(self, now: int) -> bytes | None:
        """Return the bytes of a report if one is due at `now` (ns), else None.

        Late or not, the next one is due on the grid of the first. The report's number is that of
        the latest moment of the grid, so it tells when the report was made.
        """
        if self._due is None or now < self._due:
            return None
        passed = (now - self._due) // self._interval + 1
        self._due += self._interval * passed
        self._number += passed
        self.made += 1
        status = self._entity.status(self._status_bytes) if self._status_bytes else None
        return encode_report(Report(self._number, self._receptions(), status))

    def _receptions(self) -> tuple[LegReception, ...]:
        of_legs = zip(
            self._next_counts, self._pdus, self._bytes, self._entity.reordering(), strict=True
        )
        return tuple(
            LegReception(following, pdus, size, *waited)
            for following, pdus, size, waited in of_legs
        )
