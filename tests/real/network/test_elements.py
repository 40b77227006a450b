"""Elements as seen from outside, with stand-ins for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from minitopo_dc.real.network.elements import (
    ElementFailedError,
    ElementProcess,
    _without_losses,
    stop_all,
    tail,
)


class Pretended:
    """Writes down what it is told."""

    def __init__(self, name: str, told: list[str], *, is_dead: bool = False) -> None:
        self._name, self._told, self._is_dead = name, told, is_dead

    def begin_stop(self) -> None:
        if self._is_dead:
            raise ElementFailedError(f"element on {self._name} ended")
        self._told.append(f"begin {self._name}")

    def stop(self) -> dict[str, Any]:
        self._told.append(f"wait {self._name}")
        return {"host": self._name}


def stopped(*elements: Pretended) -> list[str]:
    summaries = stop_all([cast("ElementProcess", each) for each in elements])
    return [summary["host"] for summary in summaries]


def test_all_elements_are_told_to_end_before_one_is_waited_for() -> None:
    told: list[str] = []
    assert stopped(Pretended("gnb", told), Pretended("ue", told)) == ["gnb", "ue"]
    assert told == ["begin gnb", "begin ue", "wait gnb", "wait ue"]


def test_packets_that_the_kernel_dropped_are_told_and_their_cause_is_called_a_guess() -> None:
    summary = {"host": "gnb", "kernel_drops": {"1": {"full": 3}}, "copies_refused": 0}
    with pytest.raises(
        ElementFailedError, match=r"queue 1 .*3.*; probably the machine is too slow"
    ):
        _without_losses(summary)


def test_an_element_that_had_died_leaves_no_summaries() -> None:
    told: list[str] = []
    with pytest.raises(ElementFailedError, match="element on ue ended"):
        stopped(Pretended("gnb", told), Pretended("ue", told, is_dead=True))


@pytest.mark.parametrize(
    ("written", "code", "told"),
    [
        ("", -9, "no words"),
        ("", 1, "no words; is the disk of {log.parent} full?"),
        ("leg1.pcap: No space left on device\n", 1, "leg1.pcap: No space left on device"),
        (
            "Traceback (most recent call last):\nOSError: it\n",
            1,
            "OSError: it (more in {log.name})",
        ),
    ],
)
def test_the_end_of_a_log_says_why_an_element_failed(
    written: str, code: int, told: str, tmp_path: Path
) -> None:
    log = tmp_path / "gnb-element.log"
    log.write_text(written)
    assert tail(log, code) == told.format(log=log)
