"""Elements as seen from outside, with stand-ins for them."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest

from minitopo_dc.real.elements import ElementProcess, stop_all, tail
from minitopo_dc.runs.perform import RunFailedError

TRACEBACK = "Traceback (most recent call last):"


class Pretended:
    """Writes down what it is told."""

    def __init__(self, name: str, told: list[str], *, is_dead: bool = False) -> None:
        self._name, self._told, self._is_dead = name, told, is_dead

    def begin_stop(self) -> None:
        if self._is_dead:
            raise RunFailedError(f"element on {self._name} ended")
        self._told.append(f"begin {self._name}")

    def stop(self) -> str:
        self._told.append(f"wait {self._name}")
        return self._name


def test_all_elements_are_told_to_end_before_one_is_waited_for() -> None:
    told: list[str] = []
    elements: Any = [Pretended(name, told) for name in ("gnb", "ue")]
    assert [*stop_all(elements)] == ["gnb", "ue"]  # type: ignore[comparison-overlap]
    assert told == ["begin gnb", "begin ue", "wait gnb", "wait ue"]
    elements[1] = Pretended("ue", told, is_dead=True)
    with pytest.raises(RunFailedError, match="element on ue"):
        stop_all(elements)


@pytest.mark.parametrize(
    ("drops", "refused", "words"),
    [
        (3, 0, "dropped packets at queue 1 .*3.*; probably the machine is too slow"),
        (0, 2, "2 copies were not sent"),
    ],
)
def test_packets_that_were_lost_outside_the_legs_are_told(
    drops: int, refused: int, words: str, tmp_path: Path
) -> None:
    summary = {"host": "gnb", "kernel_drops": {"1": {"full": drops}}, "copies_refused": refused}
    (tmp_path / "gnb-summary.json").write_text(json.dumps(summary))
    settings: Any = SimpleNamespace(host="gnb", directory=tmp_path)
    with pytest.raises(RunFailedError, match=f"element on gnb: .*{words}"):
        ElementProcess(settings, MagicMock()).stop()


@pytest.mark.parametrize(
    ("written", "code", "told"),
    [
        ("", -9, "no words"),
        ("", 1, "no words; is the disk of {log.parent} full?"),
        ("leg1.pcap: No space left on device\n", 1, "leg1.pcap: No space left on device"),
        (f"{TRACEBACK}\nOSError: it\n", 1, "OSError: it (more in {log.name})"),
    ],
)
def test_the_end_of_a_log_says_why_an_element_failed(
    written: str, code: int, told: str, tmp_path: Path
) -> None:
    log = tmp_path / "gnb-element.log"
    log.write_text(written)
    assert tail(log, code) == told.format(log=log)
