"""The guest's first file system and its orders."""

from __future__ import annotations

from typing import Any

from minitopo_dc.linux_guest.guest import archive
from minitopo_dc.linux_guest.orders import Change, Orders, Programs, Shape, Traffic

FILES = {"init": b"\x7fELF and more", "orders": b"", "content": b"abc"}


def test_each_entry_begins_at_a_multiple_of_four_with_the_magic() -> None:
    packed = archive(FILES, ("proc",))
    at, names = 0, []
    while at < len(packed):
        assert packed[at : at + 6] == b"070701"
        size, length = (int(packed[at + i : at + i + 8], 16) for i in (54, 94))
        names.append(packed[at + 110 : at + 110 + length - 1].decode())
        at += -(-(110 + length) // 4) * 4 + -(-size // 4) * 4
    assert names == ["proc", "init", "orders", "content", "TRAILER!!!"]


def orders(does: Traffic | Programs, **fields: Any) -> dict[str, bytes]:
    given = {
        "multipath": True,
        "congestion_control": "bbr",
        "begin": 10**9,
        "sample": 10**8,
        "server": ("fd00:10:0:0::2", 4433),
        "clients": ["fd00:10:2:1::2", "fd00:10:2:2::2"],
        "first": 2,
        "client_port": 50_000,
        "subflows": 2,
        "changes": [Change(0, "add", 1), Change(2 * 10**9, "delete-initial", 2)],
    }
    return Orders(does=does, **{**given, **fields}).files()


def test_orders_have_a_line_for_each_thing() -> None:
    shape = Shape(10, 20, 16384, 31)
    traffic = Traffic(
        content=b"abc", flights=[(517, 717)], request=shape, answer=shape, requests=(3, 4, 5)
    )
    files = orders(traffic, sysctl={"net.a": "1 2"}, mss=1280)
    assert files["content"] == b"abc"
    assert files["orders"].decode().splitlines() == [
        *("ip 6", "multipath 1", "congestion-control bbr", "begin 1000000000"),
        *("sample 100000000", "server fd00:10:0:0::2 4433"),
        *("client 1 fd00:10:2:1::2", "client 2 fd00:10:2:2::2", "first 2 50000", "subflows 2"),
        *("change 0 add 1", "change 2000000000 delete-initial 2", "sysctl net.a 1 2"),
        "mss 1280",
        *("flight 517 717", "request 10 20 16384 31", "answer 10 20 16384 31", "requests 3 4 5"),
    ]


def test_words_of_programs_keep_their_blanks_and_line_ends() -> None:
    programs = Programs(
        client=["sh", "-c", "a b\nc"],
        server=[],
        environment={"A": "1 2", "B": ""},
        working="/here",
        writable="/there",
        ready_port=None,
        patience_ns=5,
    )
    files = orders(programs, congestion_control="")
    assert files.pop("orders").decode().splitlines()[-1] == "programs 0 5"
    assert files == {
        "client": b"sh\0-c\0a b\nc\0",
        "environment": b"A=1 2\0B=\0",
        "places": b"/here\0/there\0",
    }
