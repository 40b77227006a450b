"""The commands `exec` and `shell` without a testbed: exit statuses, messages, files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from minitopo_dc import clocks
from minitopo_dc.cli import (
    exec,  # the project's name, as its command line has it
    main,
)
from minitopo_dc.fields import Direction
from minitopo_dc.real import user_program
from minitopo_dc.real.user_program import Say, UserProgram, path_variables
from minitopo_dc.results.run_result import ProgramResult
from minitopo_dc.scenario import Scenario

LEGS = ["--legs", "20", "20"]
LEG_SUMMARY = {
    "delivered_bytes": 250_000,
    "dropped_queue": 2,
    "dropped_loss": 1,
    "queue_max_packets": 9,
}
RECEIVED = {"delivered": 400, "missing": 1, "duplicates": 0, "old": 2, "t_reordering_expiries": 1}


class Fake:
    """Takes the testbed's place; remembers what was to run."""

    def __init__(self) -> None:
        self.programs: list[UserProgram] = []
        self.status: int | None = 0
        self.reason = ""

    def run_program(
        self, scenario: Scenario, program: UserProgram, directory: Path, say: Say
    ) -> ProgramResult:
        self.programs.append(program)
        say(program.banner or "no banner")
        (directory / "gnb-element.log").touch()
        blank = ProgramResult(program.command, program.host, program.server, scenario.mode)
        if self.reason:
            return replace(blank, reason=self.reason)
        count = {"bytes": 250_000, "mbps": 1.0, "dropped": 3}
        both: Mapping[Direction, Mapping[str, float]] = {"downlink": count, "uplink": count}
        return replace(
            blank,
            status="ok",
            exit_status=self.status,
            seconds=2.0,
            legs=(both, both),
            pdcp={"downlink": RECEIVED},
        )


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Fake:
    made = Fake()
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SUDO_USER", raising=False)
    monkeypatch.setattr(clocks, "real_clock_obstacle", lambda: None)
    monkeypatch.setattr(exec, "not_installed", lambda _: None)
    monkeypatch.setattr(exec, "save_facts", lambda _: None)
    monkeypatch.setattr("minitopo_dc.plots.legs", lambda _: None)
    monkeypatch.setattr(exec, "save_figure", lambda _, path: path.touch())
    monkeypatch.setattr(user_program, "run_program", made.run_program)
    return made


@pytest.mark.parametrize("status", [0, 1, 7, 130])
def test_the_exit_status_is_the_program_s(fake: Fake, status: int) -> None:
    fake.status = status
    assert main(["exec", *LEGS, "--", "true"]) == status


@pytest.mark.usefixtures("fake")
def test_what_is_said_goes_to_standard_error_and_nothing_is_kept_without_a_place(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["exec", *LEGS, "--", "true"]) == 0
    captured = capsys.readouterr()
    way = "link 250 kB (1.00 Mbit/s, 3 dropped)"
    assert captured.out == ""
    assert f"minitopo-dc: leg 2: down{way}, up{way}\n" in captured.err
    assert (
        "minitopo-dc: PDCP downlink: 400 delivered, 1 missing, 0 duplicates, 2 too late, "
        "t-Reordering expired once\n" in captured.err
    )
    assert not list(tmp_path.iterdir())


def test_with_a_place_result_and_figure_are_kept_there(fake: Fake, tmp_path: Path) -> None:
    fake.status = 3
    assert main(["exec", *LEGS, "--output", "mine", "--", "true"]) == 3
    kept = {path.name for path in (tmp_path / "mine").iterdir()}
    assert {"exec.json", "legs.png", "gnb-element.log"} <= kept
    kept = json.loads((tmp_path / "mine" / "exec.json").read_text())
    assert (kept["command"], kept["exit_status"], kept["seconds"]) == (["true"], 3, 2.0)
    assert kept["legs"][1]["uplink"] == {"bytes": 250_000, "mbps": 1.0, "dropped": 3}


def test_a_testbed_that_failed_has_a_status_of_its_own_and_no_numbers(
    fake: Fake, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    fake.reason = "element on gnb ended with -9"
    assert main(["exec", *LEGS, "--output", "mine", "--", "true"]) == 125
    assert "minitopo-dc: element on gnb ended with -9\n" in capsys.readouterr().err
    kept = json.loads((tmp_path / "mine" / "exec.json").read_text())
    assert (kept["status"], kept["exit_status"], kept["legs"]) == ("failed", None, [])
    assert not (tmp_path / "mine" / "legs.png").exists()


@pytest.mark.parametrize(("program", "status"), [("no-such-program", 127), ("./text", 126)])
def test_what_is_no_program_has_the_status_of_a_shell(
    fake: Fake, program: str, status: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "text").touch(mode=0o644)
    assert main(["exec", *LEGS, "--", program]) == status
    assert program in capsys.readouterr().err
    assert not fake.programs


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "no COMMAND; write it behind --"),
        (["--server", "no-such-server x", "--", "true"], "--server: no program no-such-server"),
        (["--server", "cat 'a", "--", "true"], "--server: No closing quotation"),
        (["--server-ready", "80", "--", "true"], "--server-ready: needs --server"),
        (
            ["--server", "cat", "--server-ready", "0", "--", "true"],
            "--server-ready: 0; allowed: 1 to 65535",
        ),
        (["--output", ".", "--", "true"], "--output: . exists"),
        (["--user", "no-such-user", "--", "true"], "--user: no user 'no-such-user' on this mach"),
    ],
)
def test_a_wrong_option_is_one_clear_error(
    fake: Fake, arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["exec", *LEGS, *arguments]) == 2
    assert words in capsys.readouterr().err
    assert not fake.programs


def test_a_shell_needs_the_real_clock_its_tools_and_a_user_who_is_here(
    fake: Fake, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(exec, "not_installed", lambda _: "mnexec is not installed")
    for option, words in {
        ("--clock", "virtual"): "--clock: virtual; a shell needs the real clock",
        ("--user", "no-such-user"): "no user 'no-such-user' on this machine",
        (): "minitopo-dc: mnexec is not installed",
    }.items():
        assert main(["shell", *LEGS, *option]) == 2
        assert words in capsys.readouterr().err
    assert not fake.programs


@pytest.mark.parametrize(
    ("variable", "shell"), [("/bin/sh", "/bin/sh"), ("", "/bin/sh"), ("/bin/cat", "/bin/cat")]
)
def test_a_shell_is_the_user_s(
    fake: Fake, monkeypatch: pytest.MonkeyPatch, variable: str, shell: str
) -> None:
    monkeypatch.setenv("SHELL", variable)
    assert main(["shell", *LEGS, "--host", "server"]) == 0
    (program,) = fake.programs
    assert (program.command, program.host) == ((shell,), "server")
    assert shell in program.banner


def test_what_legs_carried_is_read_from_who_sends_there_and_pdcp_from_who_receives() -> None:
    legs = {"1": LEG_SUMMARY, "2": LEG_SUMMARY | {"delivered_bytes": 0}}
    gnb = {"legs": legs, "receive": {}}
    ue = {"legs": {"1": LEG_SUMMARY, "2": LEG_SUMMARY}, "receive": {"1": RECEIVED}}
    blank = ProgramResult(("true",), "client", (), "dc")
    made = blank.ended({"gnb": gnb, "ue": ue}, seconds=2.0, code=-9, server_code=None)
    assert (made.status, made.exit_status) == ("ok", 137)
    first, second = made.legs
    assert first["downlink"] == {"bytes": 250_000, "mbps": 1.0, "dropped": 3}
    assert (second["downlink"]["bytes"], second["uplink"]["bytes"]) == (0, 250_000)
    assert made.pdcp == {"downlink": RECEIVED}


@pytest.mark.parametrize(
    ("changes", "client"),
    [
        ({"mode": "dc"}, "10.2.1.2"),
        ({"mode": "sc", "leg": 2}, "10.2.2.2"),
        ({"mode": "dc", "pdcp": {"legs": [2, 1]}}, "10.2.2.2"),
        ({"mode": "dc", "ip_version": 6}, "fd00:10:2:1::2"),
    ],
)
def test_the_client_s_address_is_that_of_the_leg_that_its_uplink_takes(
    changes: dict[str, object], client: str
) -> None:
    values = {"transport": "tcp", "legs": [{"downlink": {"rate_mbps": 20}}] * 2}
    variables = path_variables(Scenario.check(values | changes, "test"))
    assert variables["MINITOPO_DC_CLIENT"] == client
    assert {"MINITOPO_DC_SERVER", "MINITOPO_DC_LEG_1", "MINITOPO_DC_LEG_2"} < set(variables)


@pytest.mark.parametrize(
    ("sudo_user", "options", "user"),
    [
        (None, [], "root"),
        ("daemon", [], "daemon"),
        ("daemon", ["--user", "nobody"], "nobody"),
        ("daemon", ["--user", "root"], "root"),
    ],
)
def test_it_runs_as_who_called_sudo_or_as_who_is_named(  # noqa: PLR0917
    fake: Fake,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    sudo_user: str | None,
    options: list[str],
    user: str,
) -> None:
    if sudo_user is not None:
        monkeypatch.setenv("SUDO_USER", sudo_user)
    assert main(["exec", *LEGS, *options, "--", "true"]) == 0
    assert [program.user for program in fake.programs] == [user]
    assert ("true runs as root" in capsys.readouterr().err) == (user == "root")
