"""Captures by C and by Python: the same bytes in the files, and no verdict that waits for them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from minitopo_dc.capture import read_capture
from minitopo_dc.pdcp import append_trailer, sn_format
from tests.native.elements import (
    BEARERS,
    INDICES,
    LEG_1,
    OFFSET,
    PDUS,
    RADIOS,
    SDUS,
    STEPS,
    InC,
    InPython,
    carry,
    wanted,
)
from tests.native.extension import EXAMPLES, needs_native
from tests.real.element.fakes import LATER, MS, Clock, datagram, datagram_ipv6

pytestmark = needs_native
RADIO = {"rate_mbps": 1000, "delay_ms": 10, "jitter_ms": 0, "queue_packets": 1000}
HEADER = 24
"""Bytes of a capture without packets."""
Both = tuple[InPython, InC]


@contextmanager
def both(radios: Any, pdcp: Any, clock: Clock, pcap: str, directory: Path) -> Iterator[Both]:
    """An element each, with captures in a directory each."""
    clock.now = 0
    made = []
    for name in ("python", "native"):
        (directory / name).mkdir()
        made.append(wanted(radios, pdcp, pcap=pcap, directory=directory / name))
    python, native = InPython(made[0], clock), InC(made[1])
    try:
        yield python, native
    finally:
        native.close()


def captured(elements: Both, directory: Path) -> list[bytes]:
    """The files of both legs, which are the same of both cores."""
    python, native = elements
    python.captures.close()
    native.captures.close()
    reference, found = (
        {file.name: file.read_bytes() for file in (directory / name).iterdir()}
        for name in ("python", "native")
    )
    assert found == reference
    return [found[f"gnb-leg{leg}.pcap"] for leg in (1, 2)]


def packets(directory: Path, leg: int = 1) -> list[tuple[int, bytes]]:
    with (directory / "native" / f"gnb-leg{leg}.pcap").open("rb") as file:
        return [(moment - OFFSET, packet) for moment, packet in read_capture(file)]


@settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    radios=st.tuples(RADIOS, RADIOS),
    pdcp=BEARERS,
    pcap=st.sampled_from(["downlink", "uplink"]),
    steps=STEPS,
)
def test_the_same_packets_make_the_same_files(
    radios: tuple[dict[str, Any], ...], pdcp: dict[str, Any], pcap: str, steps: Any, machine: Clock
) -> None:
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        with both(radios, pdcp, machine, pcap, directory) as elements:
            carry(*elements, steps, pdcp["sn_bits"])
            captured(elements, directory)


@pytest.mark.parametrize("sn_bits", [12, 16, 18])
def test_everything_on_a_leg_is_captured_at_its_moment(
    sn_bits: int, machine: Clock, tmp_path: Path
) -> None:
    pdcp = {"split": "duplicate", "sn_bits": sn_bits, "t_reordering_ms": 20}
    numbers = sn_format(sn_bits)
    with both([RADIO, RADIO], pdcp, machine, "downlink", tmp_path) as elements:
        for each in elements:
            each.serve(1)
            each.put(SDUS, datagram(1000), 0)
            each.put(SDUS, datagram_ipv6(1500), 0)
            each.put(PDUS, append_trailer(datagram(60), numbers.encode(1)), INDICES[0])
            each.put(PDUS, b"none", INDICES[0])
            each.put(LEG_1, datagram(500), 0)
            each.report(0, datagram(80), 1)
            each.serve(LATER)
        captured(elements, tmp_path)
    found = packets(tmp_path)
    assert [moment for moment, _ in found] == [1, 1, LATER, LATER, LATER, LATER]
    assert found[1:2] + found[4:] == [(1, b"none"), (LATER, datagram(500)), (LATER, datagram(80))]
    assert len(packets(tmp_path, leg=2)) == 2


def test_what_is_too_long_for_its_frame_is_captured_as_it_is(
    machine: Clock, tmp_path: Path
) -> None:
    pdcp = {"sn_bits": 18}
    sizes = (65_400, 65_480, 65_484, 65_485, 65_500)
    with both([RADIO, RADIO], pdcp, machine, "downlink", tmp_path) as elements:
        for number, size in enumerate(sizes):
            pdu = append_trailer(datagram(size), sn_format(18).encode(number))
            for each in elements:
                each.put(PDUS, pdu, INDICES[0])
        captured(elements, tmp_path)
    more = [len(packet) - size for size, (_, packet) in zip(sizes, packets(tmp_path), strict=True)]
    assert more == [51, 51, 51, 3, 3]


def test_a_leg_s_file_is_written_a_good_part_at_a_time(machine: Clock, tmp_path: Path) -> None:
    with both([RADIO, RADIO], {}, machine, "downlink", tmp_path) as elements:
        native = elements[1]
        path = tmp_path / "native" / "gnb-leg1.pcap"
        sizes = []
        for number in range(1, 101):
            for each in elements:
                each.put(LEG_1, datagram(1000), 0)
                each.serve(number * 20 * MS)
            assert native.packets[-1].verdict == "accept"
            sizes.append(path.stat().st_size)
        captured(elements, tmp_path)
    assert sorted(set(sizes)) == [HEADER, HEADER + 65 * 1016]
    assert len(packets(tmp_path)) == 100
