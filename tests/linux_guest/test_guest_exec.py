"""`exec --clock virtual`: a program of one's own in a guest, from the command line."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from minitopo_dc.cli import main
from tests.linux_guest.guests import needs_guest

SERVER = "import socket; c, _ = socket.create_server(('', 80)).accept(); c.sendall(bytes(50000))"
CLIENT = """
import os, socket, sys
connection = socket.create_connection((os.environ["MINITOPO_DC_SERVER"], 80))
count = 0
while got := connection.recv(9999):
    count += len(got)
print(count, "{run}")
sys.exit(7)
"""
VIRTUAL = ["exec", "--clock", "virtual", "--legs", "20", "20"]


@needs_guest
def test_it_reports_as_on_the_real_clock(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    kept = tmp_path / "kept"
    options = ["--server", f'{sys.executable} -Sc "{SERVER}"', "--server-ready", "80"]
    command = [*VIRTUAL, *options, "--output", str(kept), "--", sys.executable, "-Sc", CLIENT]
    assert main(command) == 7
    out, errors = capfdbinary.readouterr()
    assert out == b"50000 {run}\n"
    assert b"minitopo-dc: leg 2: downlink " in errors
    assert b"minitopo-dc: PDCP downlink: " in errors
    told = json.loads((kept / "exec.json").read_text())
    assert (told["status"], told["exit_status"], told["command"][1]) == ("ok", 7, "-Sc")
    assert 0.02 < told["seconds"] < 0.2
    assert 50_000 < sum(leg["downlink"]["bytes"] for leg in told["legs"]) < 60_000
    names = {path.name for path in kept.iterdir()}
    assert {"legs.png", "server.out", "server.err", "scenario.yaml", "environment.json"} <= names
    assert not names & {"client.out", "certificate.pem", "server.log"}


@needs_guest
def test_a_server_that_ends_is_told_of_and_the_program_goes_on(
    capfd: pytest.CaptureFixture[str],
) -> None:
    server = ["--server", "sh -c 'sleep 1; echo woe >&2; exit 3'"]
    assert main([*VIRTUAL, *server, "--", "sh", "-c", "sleep 2; kill -TERM $$"]) == 128 + 15
    assert "server ended with exit code 3 during the transfer: woe" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["--user", "nobody", "--", "true"], 2, "--user: only the real clock has it"),
        (["--", "no-such-program"], 127, "no program no-such-program"),
        (
            ["--pcap", "--output", "kept", "--", "true"],
            2,
            "--pcap: captures legs, which needs --clock real",
        ),
    ],
)
def test_what_is_wrong_is_said_before_a_run(
    arguments: list[str],
    status: int,
    words: str,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("minitopo_dc.cli.exec.guest_obstacle", lambda: None)
    assert main([*VIRTUAL, *arguments]) == status
    assert words in capfd.readouterr().err


def test_without_a_guest_it_says_what_makes_it(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("minitopo_dc.extension._existing", lambda *_: iter(()))
    assert main([*VIRTUAL, "--", "true"]) == 2
    assert "minitopo-dc build linux" in capfd.readouterr().err
