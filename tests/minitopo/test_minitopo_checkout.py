"""What is refused before anything of a checkout runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from minitopo_dc import cli
from tests.minitopo.files import DUAL, TWO_PATHS

pytestmark = pytest.mark.root  # the command asks for the real clock first

CHECKOUT = Path(__file__).parent / "checkout"


def run(directory: Path, topology: str, experiment: str, checkout: Path = CHECKOUT) -> str:
    """The error of a run that is refused. A process, as a checkout's modules stay imported."""
    for name, text in (("topo", topology), ("xp", experiment)):
        (directory / name).write_text(text, encoding="utf-8")
    files = ["-t", str(directory / "topo"), "-x", str(directory / "xp")]
    command = [sys.executable, "-m", "minitopo_dc.cli", "minitopo", "--minitopo", str(checkout)]
    command += [*files, "--output", str(directory / "out")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert not (directory / "out").exists()
    return done.stderr


def test_a_directory_without_minitopo_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, text in (("topo", TWO_PATHS), ("xp", "xpType:ping\n")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    files = ["-t", str(tmp_path / "topo"), "-x", str(tmp_path / "xp")]
    assert cli.main(["minitopo", "--minitopo", str(tmp_path), *files]) == 2
    assert "no core/topo.py: not a Minitopo checkout" in capsys.readouterr().err


def test_a_checkout_that_cannot_be_imported_is_named_with_its_error(tmp_path: Path) -> None:
    for name in ("core/topo.py", "core/experiment.py", "mininet_builder.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("import no_such_module\n", encoding="utf-8")
    for name in ("topos", "experiments"):
        (tmp_path / name).mkdir()
    error = run(tmp_path, TWO_PATHS, "xpType:ping\n", tmp_path)
    assert "core.topo: ModuleNotFoundError" in error
    assert "no_such_module" in error


@pytest.mark.parametrize(
    ("topology", "experiment", "words"),
    [
        ("topoType:Star\n", "xpType:ping\n", "topo:1: topoType: 'Star'; this Minitopo has Dual"),
        (TWO_PATHS, "xpType:vlc\n", "xp:1: xpType: 'vlc'; this Minitopo has before, broken"),
        (DUAL + "batch:0\n", "xpType:ping\n", "topo:4: batch: batch 0 is out of range"),
        (DUAL, "xpType:mptcp\n", "xp:1: xpType: mptcp needs several paths"),
        (TWO_PATHS, "xpType:tcp\nfile_size:0\n", "xp:2: file_size: file_size 0"),
        ("path_c2r_0:1,1,1\n", "xpType:tcp\n", "topo: no topoType"),
    ],
)
def test_a_wrong_file_is_one_error_with_file_and_line(
    topology: str, experiment: str, words: str, tmp_path: Path
) -> None:
    assert words in run(tmp_path, topology, experiment)
