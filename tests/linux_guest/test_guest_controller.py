"""The controller beside a made-up guest, which speaks Linux' protocols and does nothing else."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from minitopo_dc.linux_guest import guest
from tests.linux_guest.guests import needs_guest

pytestmark = needs_guest
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


def wait_for(path: Path) -> None:
    for _ in range(1000):
        if path.exists():
            return
        time.sleep(0.01)
    raise AssertionError(f"no {path.name} after 10 s")


def test_what_a_guest_told_its_cards_is_done_before_its_wait(tmp_path: Path) -> None:
    ffi, lib = guest._controller()
    place = os.open(tmp_path, os.O_PATH | os.O_DIRECTORY)
    console = os.memfd_create("console")
    program = os.open(sys.executable, os.O_RDONLY)
    words = [ffi.new("char[]", word.encode()) for word in ("python", "-I", "-c", MADE_UP)]
    made = lib.guest_new(place, 1, 0, 10_000)
    arguments, environment = ffi.new("char *[]", [*words, ffi.NULL]), ffi.new("char *[]", 1)
    pid = lib.guest_start(made, program, arguments, environment, console)
    try:
        wait_for(tmp_path / "written")
        assert lib.guest_boot(made) == lib.GUEST_WAITS
        wait_for(tmp_path / "answer")
    finally:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
        lib.guest_free(made)
        for file in (place, console, program):
            os.close(file)
