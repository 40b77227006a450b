"""Files of a user's: regular ones, up to a size, and nothing that waits or never ends."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from minitopo_dc import cli
from minitopo_dc.files import UnreadableError, read_text


def test_a_pipe_is_refused_at_once(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(UnreadableError, match="no regular file"):
        read_text(pipe, 100)


def test_a_device_is_refused() -> None:
    with pytest.raises(UnreadableError, match="no regular file"):
        read_text(Path("/dev/zero"), 100)


def test_a_file_is_read_up_to_its_size(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("\ufeffa line\n", encoding="utf-8")
    assert read_text(tmp_path / "file", 100) == "a line\n"
    with pytest.raises(UnreadableError, match="longer than 3 bytes"):
        read_text(tmp_path / "file", 3)


@pytest.mark.parametrize(
    "words",
    [
        ["run", "PIPE", "--clock", "virtual"],
        ["campaign", "run", "PIPE"],
        ["trace", "info", "PIPE"],
        ["compare", "--clock", "virtual", "--legs", "PIPE", "20"],
        ["run", "-t", "PIPE", "-x", "PIPE", "--clock", "virtual"],
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_a_command_with_a_pipe_ends_with_one_error(
    tmp_path: Path, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    pipe = tmp_path / ("pipe.py" if words[0] == "campaign" else "pipe")
    os.mkfifo(pipe)
    assert cli.main([str(pipe) if word == "PIPE" else word for word in words]) == 2
    assert "regular file" in capsys.readouterr().err
