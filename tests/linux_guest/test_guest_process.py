"""A guest ends by itself, by mistakes, with its parent, leaving nothing; its controller."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from minitopo_dc.linux_guest import guest as module
from minitopo_dc.linux_guest.guest import Guest, GuestError, processes_of
from minitopo_dc.linux_guest.orders import orders as orders_of
from tests.linux_guest.guests import needs_guest

pytestmark = needs_guest
BEGIN = 10**9
WRONG_ORDERS = b"server here 1\n"
ORDERS = orders_of(
    ("10.0.0.2", 4433),
    clients=["10.2.1.2"],
    congestion_control="cubic",
    begin=BEGIN,
    sample=10**8,
    first=1,
    client_port=50_000,
    is_download=True,
    count=1,
    request=(1, 1, 16384, 0),
    answer=(1, 1, 16384, 0),
)


def started(directory: Path, orders: bytes = ORDERS, patience_s: float = 20.0) -> Guest:
    return Guest(
        directory,
        cards=2,
        files={"orders": orders, "content": bytes(65536)},
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
    with pytest.raises(GuestError, match=r"guest kernel .*error"):
        guest.boot()
    assert list(tmp_path.iterdir()) == []


def test_one_that_is_killed_is_an_error(guest: Guest) -> None:
    guest.boot()
    os.kill(guest.pid, signal.SIGKILL)
    with pytest.raises(GuestError, match=r"guest kernel .*signal 9"):
        guest.run(guest.next or BEGIN)


def test_one_that_hangs_is_an_error_in_bounded_time(guest: Guest) -> None:
    guest.boot()
    os.kill(guest.pid, signal.SIGSTOP)
    begun = time.monotonic()
    with pytest.raises(GuestError, match="hangs"):
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
        assert living(group)
        parent.kill()
    deadline = time.monotonic() + 10
    while living(group) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not living(group)
    assert list((tmp_path / "guest").iterdir()) == []


def living(group: int) -> bool:
    """Whether there is a guest's process that lives."""
    return any(fields[0] not in "ZX" for fields in processes_of(group))


STARTS = (
    "from pathlib import Path\n"
    "from minitopo_dc.linux_guest.guest import GuestError\n"
    "from tests.linux_guest.test_guest_process import started\n"
    "try:\n    guest = started(Path({directory!r}))\n    guest.boot()\n    guest.close()\n"
    "except GuestError as error:\n    print(error)\n"
)
NO_PTRACE = """
import ctypes, struct
# Linux' seccomp filter of BPF: load the call's number; of ptrace (x86_64: 101) EPERM, else allow.
rules = [(0x20, 0, 0, 0), (0x15, 0, 1, 101), (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7FFF0000)]
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *each) for each in rules))
program = struct.pack("HxxxxxxP", len(rules), ctypes.addressof(code))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0, "PR_SET_NO_NEW_PRIVS"
assert libc.prctl(22, 2, program, 0, 0) == 0, "PR_SET_SECCOMP"
"""


def test_where_ptrace_is_forbidden_it_says_so(tmp_path: Path) -> None:
    """As in some containers."""
    if os.uname().machine != "x86_64":
        pytest.skip("the filter is for x86_64")
    said = printed([], NO_PTRACE + STARTS.format(directory=str(tmp_path / "guest")))
    assert said.startswith("the guest kernel has ended: ptrace, which runs")
    assert "not permitted (EPERM" in said
    assert said.count("\n") == 1


def test_it_runs_where_no_directory_allows_programs(tmp_path: Path) -> None:
    """TMPDIR, /dev/shm and its own directory are on a file system that is mounted noexec."""
    namespace = ["unshare", "--map-root-user", "--mount"]
    if not shutil.which("unshare") or subprocess.run([*namespace, "true"], check=False).returncode:
        pytest.skip("no namespaces for this user")
    mount = "mount -t tmpfs -o noexec none"
    mounts = f"{mount} {tmp_path} && {mount} /dev/shm"
    shell = ["sh", "-c", f'{mounts} && TMPDIR={tmp_path} exec {sys.executable} -c "$0"']
    said = printed([*namespace, *shell], STARTS.format(directory=str(tmp_path / "guest")))
    assert said == ""


def printed(before: list[str], program: str) -> str:
    """What a program of Python prints, behind what runs it."""
    command = [*before, program] if before else [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.stderr, done.returncode) == ("", 0)
    return done.stdout


MADE_UP = """
import pathlib, socket, struct, time
GET_FEATURES, WAIT = 1, 3
clock, card = (socket.socket(socket.AF_UNIX) for _ in range(2))
clock.connect("clock")
card.connect("card0")
card.send(struct.pack("=3I", GET_FEATURES, 1, 0))
clock.send(struct.pack("=2IQ", WAIT, 1, 0))
pathlib.Path("written").touch()
card.settimeout(10)
pathlib.Path("answer").write_bytes(card.recv(64))
time.sleep(60)
"""
"""A guest, which speaks Linux' protocols and does nothing else."""


def wait_for(path: Path) -> None:
    deadline = time.monotonic() + 10
    while not path.exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_what_a_guest_told_its_cards_is_done_before_its_wait(tmp_path: Path) -> None:
    ffi, lib = module._controller()
    place = os.open(tmp_path, os.O_PATH | os.O_DIRECTORY)
    console = os.memfd_create("console")
    program = os.open(sys.executable, os.O_RDONLY)
    words = [ffi.new("char[]", word.encode()) for word in ("python", "-I", "-c", MADE_UP)]
    made = lib.guest_new(place, 1, 0, 10_000)
    arguments, environment = ffi.new("char *[]", [*words, ffi.NULL]), ffi.new("char *[]", 1)
    pid = lib.guest_start(made, program, arguments, environment, console)
    try:
        wait_for(tmp_path / "written")
        assert lib.guest_go_on(made) == lib.GUEST_WAITS
        wait_for(tmp_path / "answer")
    finally:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
        lib.guest_free(made)
        for file in (place, console, program):
            os.close(file)
