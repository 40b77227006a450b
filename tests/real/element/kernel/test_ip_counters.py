"""What the kernel's IP layer refused: its counters by version and name, and what they grew by."""

from __future__ import annotations

from pathlib import Path

import pytest

from minitopo_dc.real.element.kernel import queues
from minitopo_dc.real.element.kernel.queues import read_refusals, refused_since


def write(directory: Path, errors: int, checksums: int, discards: int | None) -> None:
    """The kernel's files, as far as they are read."""
    (directory / "snmp").write_text(
        f"Ip: Forwarding InReceives InHdrErrors\nIp: 1 9 {errors}\nIcmp: InErrors\nIcmp: 7\n"
    )
    (directory / "netstat").write_text(
        f"TcpExt: InCsumErrors\nTcpExt: 8\nIpExt: InOctets InCsumErrors\nIpExt: 5 {checksums}\n"
    )
    if discards is not None:
        (directory / "snmp6").write_text(
            f"Ip6InReceives   \t3\nIp6OutDiscards   \t{discards}\nIcmp6InErrors   \t4\n"
        )


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(queues, "NET", tmp_path)
    return tmp_path


def test_a_kernel_without_ipv6_has_ipv4_s(files: Path) -> None:
    write(files, 2, 3, None)
    assert read_refusals() == {"IPv4 InHdrErrors": 2, "IPv4 InCsumErrors": 3}


def test_what_did_not_grow_is_left_out(files: Path) -> None:
    write(files, 2, 3, 4)
    before = read_refusals()
    write(files, 2, 13, 5)
    assert refused_since(before) == {"IPv4 InCsumErrors": 10, "IPv6 OutDiscards": 1}


def test_this_kernel_has_the_counters() -> None:
    assert {"IPv4 InHdrErrors", "IPv4 OutDiscards", "IPv4 InCsumErrors"} <= read_refusals().keys()
