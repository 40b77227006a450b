"""IP datagrams with PDUs in C: what Python makes of the same bytes, whatever they are."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minitopo_dc.link.discipline import Ecn
from minitopo_dc.native.library import library
from minitopo_dc.pdcp import PduError, append_trailer, sn_format, split_trailer
from minitopo_dc.pdcp.classify import code_point, marked
from minitopo_dc.router.ip import may_be_forwarded
from tests.native.extension import EXAMPLES, needs_native
from tests.real.element.fakes import JUMBOGRAM, datagram, datagram_ipv6, ones_complement_sum
from tests.real.element.options import FORWARDED, REFUSED

pytestmark = needs_native
EXTENDED = datagram_ipv6(100)[:6] + b"\0" + datagram_ipv6(100)[7:40] + b"\x2b\0\1\4" + bytes(56)
"""Hop-by-hop options, behind which a routing header comes."""
FRAGMENT = datagram(68)[:6] + b"\x20\5" + datagram(68)[8:]
SOUND = (datagram(20), datagram(60), datagram_ipv6(40), datagram_ipv6(60))
WHOLE = (
    *(*SOUND, datagram(60, ttl=1), datagram(60, options=REFUSED["length 0"])),
    *(JUMBOGRAM, EXTENDED, FRAGMENT, datagram(80) + b"padding", b"", b"\x45"),
)
BITS = st.sampled_from([12, 16, 18])


@st.composite
def datagrams(draw: st.DrawFn) -> bytes:
    """Sound ones, and such with some bytes of their headers changed or their end cut."""
    packet = bytearray(draw(st.sampled_from(WHOLE)))
    changes = st.tuples(st.integers(0, 59), st.integers(0, 255))
    for place, value in draw(st.lists(changes, max_size=4)):
        if place < len(packet):
            packet[place] = value
    cut = st.one_of(st.just(0), st.integers(0, 70))
    return bytes(packet[: max(0, len(packet) - draw(cut))])


LONG = (datagram(65_532), datagram(65_533), datagram_ipv6(65_572), datagram_ipv6(65_573))


def changed(function: str, datagram: bytes, *arguments: int) -> bytes | None:
    """What C makes of a datagram in place; None: it refuses it."""
    module = library()
    buffer: Any = module.ffi.new("uint8_t[]", datagram + bytes(3))
    length = getattr(module.lib, function)(buffer, len(datagram), *arguments)
    return None if length < 0 else bytes(module.ffi.buffer(buffer, length))


@pytest.mark.parametrize("ecn", list(Ecn))
@pytest.mark.parametrize("ip", SOUND)
def test_a_mark_changes_the_code_point_and_the_checksum_alone(ip: bytes, ecn: Ecn) -> None:
    shift = 4 if ip[0] >> 4 == 6 else 0
    sent = bytearray(ip)
    sent[1] |= ecn << shift
    if not shift:
        header = sent[:10] + bytes(2) + sent[12:20]
        sent[10:12] = (0xFFFF - ones_complement_sum(bytes(header))).to_bytes(2)
    lib, ffi = library().lib, library().ffi
    buffer: Any = ffi.new("uint8_t[]", bytes(sent))
    assert lib.ip_ecn(buffer) == code_point(bytes(sent)) == ecn
    lib.ip_mark(buffer)
    made = marked(bytes(sent))
    assert bytes(ffi.buffer(buffer, len(sent))) == made
    assert code_point(made) == Ecn.CE
    assert made[12:] == sent[12:]
    if not shift:
        assert ones_complement_sum(made[:20]) == 0xFFFF


@pytest.mark.parametrize("ip", LONG, ids=["IPv4", "IPv4, one more", "IPv6", "IPv6, one more"])
def test_the_longest_datagram_has_just_room_for_a_header(ip: bytes) -> None:
    fits = len(ip) + 3 <= (65_535 if ip[0] == 0x45 else 65_575)
    assert changed("ip_append_room", ip, 3) == (append_trailer(ip, bytes(3)) if fits else None)


@settings(max_examples=4 * EXAMPLES)
@given(ip=datagrams(), bits=BITS)
def test_a_header_is_appended_as_python_appends_it(ip: bytes, bits: int) -> None:
    size = sn_format(bits).size
    try:
        expected = append_trailer(ip, bytes(size))
    except PduError:
        expected = None
    assert changed("ip_append_room", ip, size) == expected


@settings(max_examples=4 * EXAMPLES)
@given(ip=datagrams(), bits=BITS)
def test_a_header_is_taken_off_as_python_takes_it_off(ip: bytes, bits: int) -> None:
    size = sn_format(bits).size
    try:
        expected = split_trailer(ip, size)[1]
    except PduError:
        expected = None
    assert changed("ip_split_trailer", ip, size) == expected


@given(header=st.binary(min_size=3, max_size=3), bits=BITS)
def test_a_number_is_read_as_python_reads_it(header: bytes, bits: int) -> None:
    numbers = sn_format(bits)
    try:
        expected = numbers.decode(header)
    except PduError:
        expected = -1
    assert library().lib.sn_get(header, bits) == expected


@given(data=st.data(), bits=BITS)
def test_a_number_is_written_as_python_writes_it(data: st.DataObject, bits: int) -> None:
    module, numbers = library(), sn_format(bits)
    sn = data.draw(st.integers(0, numbers.modulus - 1))
    written = module.ffi.new("uint8_t[]", numbers.size)
    module.lib.sn_put(written, bits, sn)
    assert bytes(written) == numbers.encode(sn)


def forwarded(ip: bytes) -> bool:
    return bool(library().lib.ip_may_be_forwarded(ip))


@pytest.mark.parametrize("options", [*FORWARDED.values(), *REFUSED.values()])
def test_known_options_are_judged_as_in_python(options: bytes) -> None:
    ip = datagram(100, options=options)
    assert forwarded(ip) == may_be_forwarded(ip) == (options in FORWARDED.values())


KINDS = st.sampled_from([0, 1, 7, 68, 131, 134, 136, 137, 148, 222])
OPTION = st.tuples(KINDS, st.integers(0, 12), st.integers(0, 20), st.integers(0, 255))


@settings(max_examples=4 * EXAMPLES)
@given(options=st.lists(st.one_of(OPTION, st.tuples(KINDS)), max_size=12), words=st.integers(5, 15))
def test_any_options_are_judged_as_in_python(options: list[tuple[int, ...]], words: int) -> None:
    header = (datagram(60)[:20] + b"".join(map(bytes, options)) + bytes(60))[:60]
    ip = bytes((0x40 | words,)) + header[1:] + bytes(20)
    assert forwarded(ip) == may_be_forwarded(ip)
