"""Random PDUs into the receiving entity, through the driver that reads them off the network.

Half of them are random bytes or a right PDU with bytes of it changed, the rest right PDUs with a
random sequence number: the entity is to hand up what it takes in ascending order of COUNT.
"""

from __future__ import annotations

import itertools
import time
import traceback
from collections.abc import Iterator
from random import Random

from benchmarks.hostile.report import Report
from minitopo_dc.element.drivers import ReceiveDriver
from minitopo_dc.element.loop import Loop
from minitopo_dc.pdcp import append_trailer, sn_format
from minitopo_dc.settings import PdcpSettings

MS = 1_000_000
BITS = (12, 18)
LEGS = 2
STEP = 3
"""How far a PDU's number is from the last one's, at most, unless it is any number at all."""


class Packet:
    """A packet of the kernel's, of which there are too many to keep."""

    def __init__(self, payload: bytes, count: int | None, indev: int, handed: list[int]) -> None:
        self._payload = payload
        self._count = count
        self._handed = handed
        self.indev = indev

    def get_payload(self) -> bytes:
        """The IP datagram."""
        return self._payload

    def set_payload(self, payload: bytes) -> None:
        """Without its number."""
        self._payload = payload

    def set_mark(self, mark: int) -> None:
        """None is set on arrival."""

    def accept(self) -> None:
        """It is handed up."""
        if self._count is not None:
            self._handed.append(self._count)

    def drop(self) -> None:
        """It is discarded."""


def run(count: int, seed: int) -> Report:
    """Give so many PDUs to an entity of each SN length, in turn."""
    halves = [_through(count // len(BITS), bits, Random(f"{seed} {bits}")) for bits in BITS]
    rows, faults = zip(*halves, strict=True)
    return Report(rows, [fault for each in faults for fault in each])


def _through(count: int, bits: int, rng: Random) -> tuple[dict[str, object], list[str]]:
    """PDUs of one entity: a row, and faults."""
    handed: list[int] = []
    driver = ReceiveDriver(
        1,
        PdcpSettings(sn_bits=bits, t_reordering_ms=20).receiver(LEGS),
        sn_format(bits),
        {11: 0, 12: 1},
        Loop(),
    )
    faults: dict[str, int] = {}
    descending, last, delivered = 0, -1, 0
    begin = time.monotonic()
    for number, packet in enumerate(itertools.islice(_packets(bits, rng, driver, handed), count)):
        try:
            driver.on_packet(packet)
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            faults.setdefault(f"{bits} bits: {type(error).__name__} in {where.name}", number)
        for each in handed:
            descending += each < last
            last = each
        delivered += len(handed)
        handed.clear()
    if descending:
        faults[f"{bits} bits: {descending} descending COUNTs"] = count
    row: dict[str, object] = {
        "SN bits": bits,
        "PDUs": count,
        "malformed": driver.malformed,
        "right and handed up": delivered,
        "COUNT": driver.entity.rx_next,
        "descending": descending,
        "exceptions": len(faults) - bool(descending),
        "seconds": round(time.monotonic() - begin, 1),
    }
    return row, [f"{words} (PDU {place})" for words, place in faults.items()]


def _packets(bits: int, rng: Random, driver: ReceiveDriver, handed: list[int]) -> Iterator[Packet]:
    """Without an end."""
    numbers = sn_format(bits)
    sdu = bytes.fromhex("6000000000141140") + bytes(32) + bytes(20)
    while True:
        # What the entity takes for the COUNT of a number is in the window around RX_DELIV, half the
        # numbers to each side. t-Reordering may expire before it has this PDU, and RX_DELIV be up
        # to a quarter further then: beyond the quarters this would not know which COUNT it means.
        expected = driver.entity.rx_deliv
        if rng.random() < 0.05:
            ahead = rng.randrange(-(numbers.modulus // 4), numbers.modulus // 4)
        else:
            ahead = rng.randrange(-STEP, STEP + 1)
        count = max(0, expected + ahead)
        pdu = append_trailer(sdu, numbers.encode(count % numbers.modulus))
        indev = rng.choice((11, 12))
        if rng.random() < 0.5:
            yield Packet(pdu, count, indev, handed)
        elif rng.random() < 0.5:
            yield Packet(rng.randbytes(rng.randrange(100)), None, indev, handed)
        else:
            changed = bytearray(pdu)
            for _ in range(rng.randrange(1, 4)):
                changed[rng.randrange(len(changed))] = rng.randrange(256)
            yield Packet(bytes(changed[: rng.randrange(len(changed) + 1)]), None, indev, handed)
