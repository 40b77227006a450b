"""What docs/security.md says, as far as it needs no root."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from minitopo_dc import cli
from minitopo_dc.cli.entry import unexpected
from minitopo_dc.cli.screen import new_directory
from minitopo_dc.real.run_registry import VARIABLE
from minitopo_dc.results import ResultError, client_rate
from minitopo_dc.results.kept_scenario import load_as_run
from minitopo_dc.runners.processes.process import clean_environment
from tests import REPOSITORY
from tests.stores import make_store, put


def test_a_kept_traceback_follows_no_link_and_is_the_user_s_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    victim = tmp_path / "victim"
    victim.write_text("mine")
    names = iter(["taken", "free"])
    monkeypatch.setattr(tempfile, "_get_candidate_names", lambda: names)
    (tmp_path / "minitopo-dc-taken.traceback").symlink_to(victim)
    unexpected(ValueError("x"))
    assert victim.read_text() == "mine"
    assert stat.S_IMODE((tmp_path / "minitopo-dc-free.traceback").stat().st_mode) == 0o600


def test_results_are_not_world_writable_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        assert cli.main(["campaign", "status", str(tmp_path)]) == 2
        made = new_directory(tmp_path / "out", "run")
    finally:
        os.umask(before)
    assert not made.stat().st_mode & 0o002


def test_an_output_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out").symlink_to(tmp_path / "elsewhere")
    files = ["--output", str(tmp_path / "out"), "--clock", "virtual", "--size", "0.1"]
    assert cli.main(["compare", *files]) == 2
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_the_programs_of_a_run_get_a_clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    meddling = ["LD_PRELOAD", "BASH_ENV", "https_proxy", "ALL_PROXY", "SSLKEYLOGFILE", "PYTHONHOME"]
    for name in meddling:
        monkeypatch.setenv(name, "/nowhere")
    monkeypatch.setenv(VARIABLE, "kept")
    clean = clean_environment()
    assert not set(meddling) & clean.keys()
    assert clean[VARIABLE] == "kept"
    assert clean["PATH"] == os.environ["PATH"]


def run_apart(directory: Path, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a process of its own, in a directory whose modules are not its own."""
    return subprocess.run(
        [sys.executable, "-P", "-c", program, *arguments],
        cwd=directory,
        env=os.environ | {"PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        check=True,
    )


def test_no_module_of_the_current_directory_is_imported(tmp_path: Path) -> None:
    """A file there may be anybody's: processes are started with -P (`shipped.module_command`)."""
    (tmp_path / "json.py").write_text("raise SystemExit('somebody else')")
    program = "import sys; from minitopo_dc.pool import Pool; import os; "
    program += "print([list(end) for end in Pool(os.path.basename, 1).results([('a/b',)])])"
    assert run_apart(tmp_path, program).stdout == "[[0, 'b']]\n"


def _only_run(store: Path) -> Path:
    return sorted((store / "runs").iterdir())[0]


@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
def test_no_waiting(kind: str, tmp_path: Path) -> None:
    run = _only_run(make_store(tmp_path))
    put(run / "client-rate.csv", kind)
    with pytest.raises(ResultError, match=r"client-rate\.csv"):
        client_rate(run)


def test_no_link_out(tmp_path: Path) -> None:
    run = _only_run(make_store(tmp_path))
    put(run / "client-rate.csv", "link out")
    with pytest.raises(ResultError, match=r"client-rate\.csv"):
        client_rate(run)
    (run / "inside.csv").write_text("time_s,received_bytes\n0,0\n1,9\n")
    (run / "client-rate.csv").unlink()
    (run / "client-rate.csv").symlink_to("inside.csv")
    assert client_rate(run)["rate_mbps"].sum() > 0


def test_one_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = make_store(tmp_path)
    put(_only_run(store) / "environment.json", "deep")
    assert cli.main(["campaign", "status", str(store)]) == 1
    assert "damaged: " in capsys.readouterr().out
    put(store / "campaign.json", "cut")
    assert cli.main(["campaign", "status", str(store)]) == 2
    told = capsys.readouterr().err
    assert (told.count("\n"), "campaign.json" in told) == (1, True)


def test_no_code(tmp_path: Path) -> None:
    run = _only_run(make_store(tmp_path))
    (run / "evil.py").write_text(f"open({str(tmp_path / 'imported')!r}, 'w')")
    text = (run / "scenario.yaml").read_text().replace("plugins: []", f"plugins: [{run}/evil.py]")
    (run / "scenario.yaml").write_text(text)
    assert "evil.py" in text
    assert load_as_run(run).plugins == ()
    assert not (tmp_path / "imported").exists()


@pytest.mark.root
def test_no_rights(tmp_path: Path) -> None:
    """In a process of its own, as what is given up does not come back."""
    program = "from pathlib import Path; import os, sys; "
    program += "from minitopo_dc.cli.screen import drop_privileges; "
    program += "drop_privileges([Path(sys.argv[1])]); "
    program += "print(os.getresuid(), os.getresgid(), os.getgroups())"
    os.chown(tmp_path, 65_533, 0)
    done = run_apart(REPOSITORY, program, str(tmp_path))
    user, group = (65_533,) * 3, (65_534,) * 3
    assert done.stdout == f"{user} {group} []\n"
    assert done.stderr.count("\n") == 1


def test_no_overwriting(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    (tmp_path / "victim").write_text("mine")
    (store / "report").mkdir()
    for name in ("report.html", "report.html.partial"):
        (store / "report" / name).symlink_to(tmp_path / "victim")
    assert cli.main(["campaign", "report", str(store)]) == 0
    assert (tmp_path / "victim").read_text() == "mine"
    assert not (store / "report" / "report.html").is_symlink()
