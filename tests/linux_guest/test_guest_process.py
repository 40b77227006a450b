"""A guest ends: by itself, by its end's mistakes, with its parent; and always leaves nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from minitopo_dc.linux_guest.guest import Guest, GuestError
from tests.linux_guest.guests import needs_guest

pytestmark = needs_guest
BEGIN = 10**9
WRONG_ORDERS = "server here 1\n"
ORDERS = """ip 4
congestion-control cubic
begin 1000000000
sample 100000000
server 10.0.0.2 4433
client 1 10.2.1.2
first 1 50000
request 1 1 16384 0
answer 1 1 16384 0
download 0
"""


def started(directory: Path, orders: str = ORDERS, patience_s: float = 20.0) -> Guest:
    return Guest(
        directory,
        cards=2,
        orders=orders,
        content=bytes(65536),
        seed=1,
        begin=BEGIN,
        patience_s=patience_s,
    )


@pytest.fixture
def guest(tmp_path: Path) -> Iterator[Guest]:
    made = started(tmp_path / "guest", patience_s=1.0)
    yield made
    made.close()


def test_it_boots_and_says_when_it_begins_and_leaves_no_file(guest: Guest, tmp_path: Path) -> None:
    guest.boot()
    assert guest.next is not None
    assert BEGIN <= guest.next < BEGIN + 1000
    frames = guest.run(guest.next)
    assert [frame.data.decode() for frame in frames if frame.is_report] == [f"begin {BEGIN}"]
    [syn] = [frame for frame in frames if not frame.is_report]
    assert (syn.card, syn.data[9], syn.data[12:20]) == (1, 6, bytes([10, 2, 1, 2, 10, 0, 0, 2]))
    assert list((tmp_path / "guest").iterdir()) == []


def test_one_that_does_not_boot_gives_its_last_words(tmp_path: Path) -> None:
    guest = started(tmp_path, WRONG_ORDERS)
    with pytest.raises(GuestError, match=r"guest kernel has ended: .*it said: .*agent: error"):
        guest.boot()
    assert list(tmp_path.iterdir()) == []


def test_one_that_is_killed_is_an_error(guest: Guest) -> None:
    guest.boot()
    os.kill(guest.pid, signal.SIGKILL)
    with pytest.raises(GuestError, match="the guest kernel has ended"):
        guest.run(guest.next or BEGIN)


def test_one_that_hangs_is_an_error_in_bounded_time(guest: Guest) -> None:
    guest.boot()
    os.kill(guest.pid, signal.SIGSTOP)
    begun = time.monotonic()
    with pytest.raises(GuestError, match="the guest kernel hangs: it did not answer in time"):
        guest.run(guest.next or BEGIN)
    assert time.monotonic() - begun < 10


def test_it_ends_with_its_parent_however_that_is_killed(tmp_path: Path) -> None:
    program = (
        "import sys, time\nfrom pathlib import Path\n"
        "from tests.linux_guest.test_guest_process import started\n"
        f"guest = started(Path({str(tmp_path / 'guest')!r}))\nguest.boot()\n"
        "print(guest.pid, flush=True)\ntime.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        group = int(parent.stdout.readline())
        assert processes_of(group)
        parent.kill()
    deadline = time.monotonic() + 10
    while processes_of(group) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert processes_of(group) == []
    assert list((tmp_path / "guest").iterdir()) == []


def processes_of(group: int) -> list[int]:
    """The guest and its processes: those of the group that live."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal():
            continue
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(fields[2]) == group and fields[0] not in "ZX":
            found.append(int(entry.name))
    return found
