"""FQ-CoDel against answers worked out by hand. 12 Mbit/s: 1500 bytes take 1 ms."""

from __future__ import annotations

from random import Random

import pytest

from minitopo_dc.errors import InputError
from minitopo_dc.link import CapacityLeg, ConstantDelay, LegParameters, make_capacity
from minitopo_dc.link.codel import FqCodel
from minitopo_dc.link.discipline import Ecn, make_discipline
from minitopo_dc.units import QueueLimit
from tests.virtual.scenarios import leg as radio
from tests.virtual.scenarios import scenario

MS = 10**6


class Flowing:
    """A packet of a flow, with a number."""

    def __init__(self, flow: str, number: int, ecn: int = 0) -> None:
        self.flow_id = flow.encode()
        self.name = f"{flow}{number}"
        self.ecn = ecn

    def mark(self) -> None:
        self.ecn = Ecn.CE


def leg_of(**parameters: float) -> CapacityLeg[Flowing]:
    discipline = make_discipline("fq-codel", parameters)
    limits = LegParameters(delay=ConstantDelay(0), discipline=discipline, queue=QueueLimit(1000))
    leg: CapacityLeg[Flowing] = CapacityLeg(limits, make_capacity(12_000_000), Random(1))
    leg.start(0)
    return leg


def names(packets: list[Flowing]) -> list[str]:
    return [packet.name for packet in packets]


def test_flows_take_turns_of_a_quantum() -> None:
    """A packet of 1500 leaves a credit of 14, so that the second turn is for two."""
    leg = leg_of()
    for number in range(4):
        leg.push(Flowing("a", number), 1500, 0)
    for number in range(4):
        leg.push(Flowing("b", number), 1500, 0)
    assert names(leg.poll(8 * MS)) == ["a0", "a1", "b0", "b1", "a2", "b2", "a3", "b3"]


def test_a_flow_that_had_nothing_waiting_comes_first() -> None:
    leg = leg_of(quantum_bytes=1500)
    for number in range(10):
        leg.push(Flowing("a", number), 1500, 0)
    assert names(leg.poll(3 * MS)) == ["a0", "a1", "a2"]
    leg.push(Flowing("b", 0), 100, 3 * MS + 1)
    assert names(leg.poll(6 * MS))[:2] == ["a3", "b0"]


def test_each_flow_has_a_codel_of_its_own() -> None:
    """Of 400 ms of one flow some are dropped; a flow of little loses nothing and waits 2 ms."""
    leg = leg_of()
    lone = []
    for number in range(400):
        leg.push(Flowing("a", number), 1500, 0)
    for now in range(0, 400 * MS, 20 * MS):
        leg.push(Flowing("b", now, Ecn.ECT_0), 1500, now)
        lone += [packet for packet in leg.poll(now + 3 * MS) if packet.name[0] == "b"]
    assert len(lone) == 20
    assert all(packet.ecn == Ecn.ECT_0 for packet in lone)
    dropped = names(leg.dropped())
    assert len(dropped) == 4  # 100, 200, 271 and 328 ms after the first one that waited 5 ms
    assert {name[0] for name in dropped} == {"a"}


def test_codel_drops_when_it_does_over_the_flow_alone() -> None:
    kept = []
    for name in ("codel", "fq-codel"):
        parameters = LegParameters(
            delay=ConstantDelay(0), discipline=make_discipline(name, {}), queue=QueueLimit(1000)
        )
        leg: CapacityLeg[Flowing] = CapacityLeg(parameters, make_capacity(12_000_000), Random(1))
        leg.start(0)
        for number in range(600):
            leg.push(Flowing("a", number), 1500, 0)
        kept.append(names(leg.poll(1000 * MS)))
    assert kept[0] == kept[1]
    assert len(kept[0]) < 600


def test_wrong_parameters_are_refused() -> None:
    with pytest.raises(InputError, match=r"quantum_bytes .*0"):
        make_discipline("fq-codel", {"quantum_bytes": 0})
    with pytest.raises(InputError, match="target_ms"):
        make_discipline("fq-codel", {"target_ms": -1})
    assert isinstance(make_discipline("fq-codel", {"flows": 8}), FqCodel)


def test_rlc_refuses_it_as_it_reorders() -> None:
    with pytest.raises(Exception, match="fq-codel reorders packets"):
        scenario(legs=[radio(queue_discipline="fq-codel", rlc={}), radio()])
