"""Queue disciplines against answers worked out by hand. 12 Mbit/s: 1500 bytes take 1 ms."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest

from minitopo_dc.errors import InputError
from minitopo_dc.link import CapacityLeg, ConstantDelay, LegParameters, make_capacity
from minitopo_dc.link.codel import CoDel
from minitopo_dc.link.discipline import (
    AtQueue,
    Ecn,
    LegPacket,
    QueueDiscipline,
    Red,
    Step,
    Verdict,
    make_discipline,
)
from minitopo_dc.link.pie import DualPi2, Pie
from tests.native.legs import Numbered

MS = 10**6
RNG = Random(1)


def at_queue(ecn: int = Ecn.ECT_0, *, waited_ms: float = 0, packets: int = 50) -> AtQueue:
    return AtQueue(1500, ecn, round(waited_ms * MS), packets, packets * 1500)


def leg_of(discipline: QueueDiscipline) -> CapacityLeg[Numbered]:
    parameters = LegParameters(delay=ConstantDelay(0), discipline=discipline)
    leg: CapacityLeg[Numbered] = CapacityLeg(parameters, make_capacity(12_000_000), Random(1))
    leg.start(0)
    return leg


def test_a_step_marks_exactly_what_has_waited_longer() -> None:
    leg = leg_of(Step(threshold_ms=3))
    for index in range(8):
        assert leg.push(Numbered(4 * index + Ecn.ECT_1), 1500, 0)
    marks = [packet.ecn == Ecn.CE for packet in leg.poll(100 * MS)]
    assert marks == [False] * 4 + [True] * 4
    seen = leg.statistics()
    assert (seen.marked_packets, seen.dropped_early, seen.ect1_packets) == (4, 0, 8)


def test_what_cannot_be_marked_is_dropped_and_told() -> None:
    leg = leg_of(Step(threshold_ms=3))
    for index in range(8):
        assert leg.push(Numbered(4 * index), 1500, 0)
    assert leg.poll(3 * MS) == [0, 4, 8]
    assert leg.backlog_bytes(now=4 * MS) == 0
    assert leg.next_timeout() == 4 * MS
    assert leg.poll(4 * MS) == [12]
    assert leg.dropped() == [16, 20, 24, 28]
    assert leg.statistics().dropped_early == 4
    assert leg.next_timeout() is None


@pytest.mark.parametrize("ecn", [Ecn.NOT_ECT, Ecn.ECT_0])
def test_codel_tells_of_congestion_by_the_control_law(ecn: Ecn) -> None:
    """100 ms after the first long wait, then 100 ms / sqrt(1, 2, 3, 4, 5) later, each the next ms.

    After a drop in the dropping state the next packet is asked at once.
    """
    codel, times = CoDel(), []
    for ms in range(425):
        verdict = codel.dequeue(at_queue(ecn, waited_ms=10), ms * MS, RNG)
        if verdict is not Verdict.PASS:
            assert verdict is (Verdict.MARK if ecn else Verdict.DROP)
            times.append(ms)
            if verdict is Verdict.DROP:
                assert codel.dequeue(at_queue(ecn, waited_ms=10), ms * MS, RNG) is Verdict.PASS
    assert times == [100, 200, 271, 329, 379, 424]


def test_codel_leaves_a_short_wait_and_a_last_packet_alone() -> None:
    codel = CoDel()
    for ms in range(300):
        assert codel.dequeue(at_queue(waited_ms=4.9), ms * MS, RNG) is Verdict.PASS
        assert codel.dequeue(at_queue(waited_ms=50, packets=1), ms * MS, RNG) is Verdict.PASS


def test_codel_begins_again_at_the_rate_of_just_before() -> None:
    codel, marks = CoDel(), []
    for ms in range(500):
        waited = 1 if ms == 380 else 10
        if codel.dequeue(at_queue(waited_ms=waited), ms * MS, RNG) is Verdict.MARK:
            marks.append(ms)
    # Five marks until 379; 381 + 100 begins anew, with a count of 5 - 1 and not of 1.
    assert marks[4:] == [379, 481]
    assert codel.dequeue(at_queue(waited_ms=10), 530 * MS, RNG) is Verdict.PASS
    assert codel.dequeue(at_queue(waited_ms=10), 531 * MS, RNG) is Verdict.MARK


def test_pie_steps_by_the_formula() -> None:
    """A delay of 30 ms, twice the target: RFC 8033, section 4.2, with its scaling."""
    pie, probabilities = Pie(), []
    for step in range(4):
        pie.dequeue(at_queue(waited_ms=30), step * 15 * MS, RNG)
        probabilities.append(pie.probability)
    first = (0.125 * 0.015 + 1.25 * 0.030) / 2048
    second = first + 0.125 * 0.015 / 128
    assert probabilities == pytest.approx([0, first, second, second + 0.125 * 0.015 / 128])


def test_pie_marks_up_to_a_probability_and_drops_beyond_it() -> None:
    def verdicts(probability: float) -> set[Verdict]:
        pie = Pie(burst_ms=0.001)
        for step in range(2):
            pie.dequeue(at_queue(waited_ms=30), step * 15 * MS, RNG)
        pie.probability = probability
        return {pie.enqueue(at_queue(), 15 * MS, Random(seed)) for seed in range(300)}

    assert verdicts(0.09) == {Verdict.PASS, Verdict.MARK}
    assert verdicts(0.2) == {Verdict.PASS, Verdict.DROP}


def test_pie_sums_its_probability_anew_after_there_was_none() -> None:
    """RFC 8033, section 5.2: nothing is dropped until the sum is 0.85."""
    verdicts = set()
    for seed in range(100):
        pie = Pie(burst_ms=0.001)
        for step in range(2):
            pie.dequeue(at_queue(waited_ms=30), step * 15 * MS, RNG)
        for pie.probability in (0.0, 0.5):
            verdicts.add(pie.enqueue(at_queue(), 15 * MS, Random(seed)))
    assert verdicts == {Verdict.PASS}


def test_pie_leaves_a_burst_alone() -> None:
    pie = Pie()
    pie.probability = 1.0
    assert {pie.enqueue(at_queue(), ms * MS, RNG) for ms in range(140)} == {Verdict.PASS}


def test_pie_s_probability_falls_while_the_queue_is_idle_however_late_it_looks() -> None:
    """By 2 % and alpha * target a step (section 4.2), and not below 0."""
    late, timely = Pie(), Pie()
    for pie in (late, timely):
        pie.enqueue(at_queue(), 0, RNG)
        pie.probability = 0.15
    timely.enqueue(at_queue(), 15 * MS, RNG)
    assert timely.probability == pytest.approx((0.15 - 0.125 * 0.015) * 0.98)
    for step in range(2, 21):
        timely.enqueue(at_queue(), step * 15 * MS, RNG)
    late.enqueue(at_queue(), 20 * 15 * MS, RNG)
    assert late.probability == timely.probability > 0
    late.enqueue(at_queue(), 1000 * 15 * MS, RNG)
    assert late.probability == 0


def test_pie_keeps_its_grid_of_steps_over_idle_time() -> None:
    pie = Pie()
    pie.dequeue(at_queue(waited_ms=0, packets=0), 0, RNG)
    pie.dequeue(at_queue(waited_ms=30), 100 * 15 * MS + 7 * MS, RNG)
    pie.dequeue(at_queue(waited_ms=30), 101 * 15 * MS - 1, RNG)
    assert pie.probability == 0
    pie.dequeue(at_queue(waited_ms=30), 101 * 15 * MS, RNG)
    assert pie.probability == pytest.approx((0.125 * 0.015 + 1.25 * 0.030) / 2048)


def test_red_averages_the_queue_and_spreads_its_marks() -> None:
    red = Red(weight=0.5)
    for waiting in (8, 8):
        red.enqueue(at_queue(packets=waiting), 0, RNG)
    assert red.average == 0.5 * 4 + 0.5 * 8
    red = Red(weight=1)
    verdicts = [red.enqueue(at_queue(packets=10), 0, RNG) for _ in range(2000)]
    marks = [index for index, verdict in enumerate(verdicts) if verdict is Verdict.MARK]
    gaps = [later - earlier for earlier, later in pairwise(marks)]
    assert max(gaps) <= 1 / 0.05  # half of 10 %: uniform from 1 to 20
    assert sum(gaps) / len(gaps) == pytest.approx(10.5, rel=0.15)
    assert red.enqueue(at_queue(packets=15), 0, RNG) is Verdict.DROP
    assert red.enqueue(at_queue(packets=4), 0, RNG) is Verdict.PASS


def test_red_forgets_while_the_queue_is_idle() -> None:
    red = Red(weight=0.5, mean_packet_ms=1)
    red.enqueue(at_queue(packets=8), 0, RNG)
    red.dequeue(at_queue(packets=0), 10 * MS, RNG)
    red.enqueue(at_queue(packets=0), 12 * MS, RNG)
    assert red.average == 4 * 0.25


def test_dualpi2_couples_both_queues() -> None:
    """p' = 0.25: classic packets with p' squared, L4S packets with 2 p'."""
    dual = DualPi2()
    dual.probability = 0.25
    classic = [dual.dequeue(at_queue(Ecn.ECT_0), 0, RNG) for _ in range(161)]
    l4s = [dual.dequeue(at_queue(Ecn.ECT_1), 0, RNG) for _ in range(161)]
    assert classic.count(Verdict.MARK) == 10
    assert l4s.count(Verdict.MARK) == 80
    assert DualPi2().dequeue(at_queue(Ecn.NOT_ECT), 0, RNG) is Verdict.PASS


def test_dualpi2_steps_by_the_formula() -> None:
    """A packet that has waited 30 ms at the first step, 15 ms after the first look."""
    dual, packet = DualPi2(), LegPacket(None, 1500, 1, 0, lost=False, ecn=Ecn.ECT_0)
    dual.choose([packet], 15 * MS)
    dual.choose([packet], 30 * MS)
    alpha, beta = 0.1 * 0.015 / 0.1**2, 0.3 / 0.1
    assert dual.probability == pytest.approx(alpha * 0.015 + beta * 0.030)


def test_dualpi2_serves_l4s_first_but_for_every_16th_packet() -> None:
    leg = leg_of(DualPi2())
    for index in range(20):
        leg.push(Numbered(4 * index + Ecn.ECT_0), 1500, 0)
    for index in range(20, 40):
        leg.push(Numbered(4 * index + Ecn.ECT_1), 1500, 0)
    assert leg.served_packets(now=5 * MS) == 1
    order = [packet.number // 4 for packet in leg.poll(100 * MS)]
    assert order[:4] == [0, 20, 21, 22]
    assert order.index(1) == 16
    assert order.index(2) == 22  # no L4S packet is left
    assert sorted(order) == list(range(40))


def test_a_wrong_discipline_is_refused() -> None:
    assert make_discipline("drop-tail", {}) is None
    with pytest.raises(InputError, match="'codex'"):
        make_discipline("codex", {})
    with pytest.raises(InputError, match="'tgt'; its parameters: target_ms, interval_ms"):
        make_discipline("codel", {"tgt": 1})
    with pytest.raises(InputError, match=r"threshold_ms .*-1"):
        make_discipline("step", {"threshold_ms": -1})
