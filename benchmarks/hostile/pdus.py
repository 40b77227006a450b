"""Random PDUs into the receiving entity, through the driver that reads them off the network.

Half of them are random bytes or a right PDU with bytes of it changed, the rest right PDUs with a
random sequence number: the entity is to hand up what it takes in ascending order of COUNT, however
late t-Reordering expires.
"""

from __future__ import annotations

import itertools
import time
import traceback
from collections.abc import Iterable, Iterator
from random import Random

from benchmarks.hostile.report import Report
from minitopo_dc.pdcp import SN_BITS, PduError, SnFormat, append_trailer, sn_format, split_trailer
from minitopo_dc.real.element.drivers import ReceiveDriver
from minitopo_dc.real.element.kernel.loop import Loop
from minitopo_dc.settings import Pdcp

MS = 1_000_000
LEGS = 2
STEP = 3
"""How far a PDU's number is from the last one's, at most, unless it is any number at all."""
NONE = -1
"""Stands for the number of a PDU that has none."""


class Packet:
    """A packet of the kernel's that keeps no records, as there are too many."""

    def __init__(self, payload: bytes, sn: int | None, indev: int, handed: list[int]) -> None:
        """Make a packet; `sn` is its number, or None for one that is not to be handed up."""
        self._payload = payload
        self._sn = sn
        self._handed = handed
        self.indev = indev

    def get_payload(self) -> bytes:
        """Return the IP datagram of the packet."""
        return self._payload

    def set_payload(self, payload: bytes) -> None:
        """Replace the datagram by the one without its number."""
        self._payload = payload

    def set_mark(self, mark: int) -> None:
        """Do nothing, as no mark is set on arrival."""

    def accept(self) -> None:
        """Note that the packet is handed up."""
        self._handed.append(NONE if self._sn is None else self._sn)

    def drop(self) -> None:
        """Do nothing, as the packet is discarded."""


def run(count: int, seed: int) -> Report:
    """Give `count` PDUs, split over the SN lengths, to an entity of each."""
    each, rest = divmod(count, len(SN_BITS))
    parts = [
        _feed(each + (place < rest), bits, Random(f"{seed} {bits}"))
        for place, bits in enumerate(SN_BITS)
    ]
    rows, faults = zip(*parts, strict=True)
    return Report(rows, [fault for each in faults for fault in each])


def _feed(count: int, bits: int, rng: Random) -> tuple[dict[str, object], list[str]]:
    """Give PDUs to one entity; return a row of counts, and faults."""
    handed: list[int] = []
    driver = ReceiveDriver(
        1,
        Pdcp(sn_bits=bits, t_reordering_ms=20).receiver(LEGS),
        sn_format(bits),
        {11: 0, 12: 1},
        Loop(),
    )
    faults: dict[str, int] = {}
    descending = delivered = 0
    begin = time.monotonic()
    for number, packet in enumerate(itertools.islice(_packets(bits, rng, driver, handed), count)):
        before = driver.entity.rx_deliv
        try:
            driver.on_packet(packet)
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            faults.setdefault(f"{bits} bits: {type(error).__name__} in {where.name}", number)
        descending += _descending(handed, before, driver.entity.rx_deliv, 1 << bits)
        delivered += len(handed)
        handed.clear()
    if descending:
        faults[f"{bits} bits: {descending} descending COUNTs"] = count
    row: dict[str, object] = {
        "SN bits": bits,
        "PDUs": count,
        "malformed": driver.malformed,
        "handed up": delivered,
        "t-Reordering expired": driver.entity.statistics().t_reordering_expiries,
        "COUNT": driver.entity.rx_next,
        "descending": descending,
        "exceptions": len(faults) - bool(descending),
        "seconds": round(time.monotonic() - begin, 1),
    }
    return row, [f"{words} (PDU {place})" for words, place in faults.items()]


def _descending(handed: Iterable[int], before: int, after: int, modulus: int) -> int:
    """Return how many PDUs were handed up that are not right after the one before.

    All that one PDU, and an expiry of t-Reordering before it, let go has a COUNT from RX_DELIV
    before to RX_DELIV after, at most the whole space of SNs further (half of it each; TS 38.323,
    5.2.2.1 and 5.2.2.2). So its SN tells its COUNT, whatever the sender of the PDU meant by it.
    """
    wrong, least = 0, before
    for sn in handed:
        count = before + (sn - before) % modulus
        wrong += sn == NONE or not least <= count < after
        least = count + 1
    return wrong


def _packets(bits: int, rng: Random, driver: ReceiveDriver, handed: list[int]) -> Iterator[Packet]:
    """Yield packets without an end."""
    numbers = sn_format(bits)
    sdu = bytes.fromhex("6000000000141140") + bytes(32) + bytes(20)
    while True:
        near = driver.entity.rx_deliv + rng.randrange(-STEP, STEP + 1)
        sn = (rng.randrange(numbers.modulus) if rng.random() < 0.05 else near) % numbers.modulus
        pdu = append_trailer(sdu, numbers.encode(sn))
        if rng.random() >= 0.5:
            pdu = _changed(pdu, rng)
        yield Packet(pdu, _sn(pdu, numbers), rng.choice((11, 12)), handed)


def _changed(pdu: bytes, rng: Random) -> bytes:
    """Return random bytes, or a PDU with some of its bytes changed, and maybe cut."""
    if rng.random() < 0.5:
        return rng.randbytes(rng.randrange(100))
    changed = bytearray(pdu)
    for _ in range(rng.randrange(1, 4)):
        changed[rng.randrange(len(changed))] = rng.randrange(256)
    return bytes(changed[: rng.randrange(len(changed) + 1)])


def _sn(pdu: bytes, numbers: SnFormat) -> int | None:
    try:
        return numbers.decode(split_trailer(pdu, numbers.size)[0])
    except PduError:
        return None
