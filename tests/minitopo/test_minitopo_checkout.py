"""What is refused before anything of a checkout runs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from minitopo_dc import cli
from tests.minitopo.files import DUAL, TWO_PATHS

pytestmark = pytest.mark.root  # the command asks for the real clock first

CHECKOUT = Path(__file__).parent / "checkout"


PROGRAM = """
import json, sys
from minitopo_dc import cli
for arguments in json.load(sys.stdin):
    print(cli.main(arguments), file=sys.stderr, flush=True)
"""


def refused(directory: Path, *files: tuple[str, str], checkout: Path = CHECKOUT) -> list[str]:
    """The errors of runs that are refused, all in a process: a checkout's modules stay imported."""
    commands = []
    for number, texts in enumerate(files):
        paths = [directory / f"topo{number}", directory / f"xp{number}"]
        for path, text in zip(paths, texts, strict=True):
            path.write_text(text, encoding="utf-8")
        topo, xp = map(str, paths)
        options = ["-t", topo, "-x", xp, "--output", str(directory / "out")]
        commands.append(["minitopo", "--minitopo", str(checkout), *options])
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=json.dumps(commands),
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Traceback" not in done.stderr
    assert not (directory / "out").exists()
    *errors, rest = done.stderr.split("\n2\n")
    assert rest == ""
    return errors


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
    (error,) = refused(tmp_path, (TWO_PATHS, "xpType:ping\n"), checkout=tmp_path)
    assert "core.topo: ModuleNotFoundError" in error
    assert "no_such_module" in error


WRONG = {
    ("topoType:Star\n", "xpType:ping\n"): "topo0:1: topoType: 'Star'; this Minitopo has Dual",
    (TWO_PATHS, "xpType:vlc\n"): "xp1:1: xpType: 'vlc'; this Minitopo has before, broken",
    (DUAL + "batch:0\n", "xpType:ping\n"): "topo2:4: batch: bearer: batch: 0; allowed: 1 to ",
    (DUAL, "xpType:mptcp\n"): "xp3:1: xpType: mptcp needs several paths",
    (TWO_PATHS, "xpType:tcp\nfile_size:0\n"): "xp4:2: file_size: 0 is out of range; allowed: 1 to ",
    ("path_c2r_0:1,1,1\n", "xpType:tcp\n"): "topo5: no topoType",
}


def test_a_wrong_file_is_one_error_with_file_and_line(tmp_path: Path) -> None:
    errors = refused(tmp_path, *WRONG)
    assert len(errors) == len(WRONG)
    for error, words in zip(errors, WRONG.values(), strict=True):
        assert words in error
