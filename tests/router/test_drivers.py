"""The drivers of bearers that both clocks share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from minitopo_dc.router.drivers import PduOnLeg, ReportSender, TransmitDriver


class HeldPdu(PduOnLeg):
    """A PDU that notes that it was dropped."""

    dropped = False

    def accept(self) -> None:
        raise AssertionError("nothing lets it go")

    def drop(self) -> None:
        self.dropped = True


class Queue:
    """A leg whose queue holds the PDUs of several bearers."""

    number = 1

    def __init__(self, *held: Any) -> None:
        self._held = held

    def flush(self, which: Callable[[Any], bool], now: int) -> Sequence[Any]:  # noqa: ARG002
        return [packet for packet in self._held if which(packet)]


class Sender(TransmitDriver[Any, Queue]):
    """A bearer that has nothing to send."""

    def _put(self, pdus: Sequence[Any], now: int) -> None:
        raise AssertionError((pdus, now))


def test_a_lost_leg_gives_back_the_pdus_of_its_bearer_and_no_others() -> None:
    own, other, plain = HeldPdu(1, 7), HeldPdu(2, 7), SimpleNamespace()
    taken: list[tuple[int, list[int], int]] = []
    entity: Any = SimpleNamespace(
        next_timeout=lambda: None,
        follows_legs=False,
        lost_legs=lambda _: [0],
        leg_lost=lambda *lost: taken.append(lost),
        poll=lambda _: [],
        dropped=list,
    )
    loop: Any = None
    Sender(1, entity, [Queue(own, other, plain)], loop).handle(5)
    assert taken == [(0, [7], 5)]
    assert (own.dropped, other.dropped) == (True, False)


@pytest.mark.parametrize(
    ("up", "every_leg", "taken"),
    [
        ([False, True], False, [2]),
        ([True, True], False, [1]),
        ([True, False, True], True, [1, 3]),
        ([False, False], False, [1]),
    ],
)
def test_a_report_takes_the_first_leg_that_is_up_or_all_of_them_or_where_none_is_the_first(
    up: list[bool], every_leg: bool, taken: list[int]
) -> None:
    sent: list[int] = []
    ways: list[Any] = [
        (SimpleNamespace(is_up=is_up), lambda report, now, leg=leg: sent.append(leg))  # noqa: ARG005
        for leg, is_up in enumerate(up, start=1)
    ]
    maker: Any = SimpleNamespace(poll=lambda _: b"report", next_timeout=None, start=None)
    ReportSender(maker, ways, every_leg=every_leg).handle(5)
    assert sent == taken
