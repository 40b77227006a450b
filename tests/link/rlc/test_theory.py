"""A leg with RLC and HARQ against closed forms; p is the probability of a block error."""

from __future__ import annotations

from collections import Counter
from functools import cache
from random import Random

import pytest

from minitopo_dc.link import (
    ConstantDelay,
    LegParameters,
    RlcLeg,
    RlcParameters,
    RlcStatistics,
    make_capacity,
)

MS, S = 10**6, 10**9
RATE = 20_000_000
DELAY = 10 * MS
RTT, STATUS = 8, 45
PACKETS = 8_000
SECONDS = 8
"""In which as many blocks are sent as a leg alone carries packets."""
ERRORS = (0.01, 0.1, 0.3)
CHI_SQUARE_99_9 = {1: 10.83, 2: 13.82, 3: 16.27, 4: 18.47, 5: 20.52}
"""By degrees of freedom."""
MIN_EXPECTED = 5
"""Of a class in a chi-square test; smaller ones are put together."""


@cache
def alone(p: float, mode: str) -> tuple[Counter[int], RlcStatistics]:
    """Packets far apart: how often each additional delay (ms) was met."""
    rlc = RlcParameters(mode="am" if mode == "am" else "um", block_error=p)
    leg: RlcLeg[int] = RlcLeg(
        LegParameters(delay=ConstantDelay(DELAY)), rlc, make_capacity(RATE), Random(3)
    )
    leg.start(0)
    found: Counter[int] = Counter()
    for number in range(PACKETS):
        sent = number * S
        leg.push(sent, 100, sent)
        while (due := leg.next_timeout()) is not None:
            found.update((due - packet - DELAY - MS) // MS for packet in leg.poll(due))
    return found, leg.statistics()


@cache
def saturated(p: float, mode: str) -> tuple[list[int], RlcStatistics]:
    """A queue that never runs empty: what arrived, in order of arrival."""
    rlc = RlcParameters(mode="am" if mode == "am" else "um", block_error=p)
    leg: RlcLeg[int] = RlcLeg(
        LegParameters(delay=ConstantDelay(DELAY)), rlc, make_capacity(RATE), Random(4)
    )
    leg.start(0)
    found: list[int] = []
    pushed = 0
    for now in range(0, SECONDS * S, MS):
        found += leg.poll(now)
        while leg.has_room(now=now, size=1500):
            leg.push(pushed, 1500, now)
            pushed += 1
    return found, leg.statistics()


def chi_square(observed: list[int], expected: list[float]) -> tuple[float, int]:
    """Pearson's statistic and its degrees of freedom, small classes at the end put together."""
    while expected[-1] < MIN_EXPECTED:
        *expected, first, second = expected
        expected.append(first + second)
        *observed, one, other = observed
        observed.append(one + other)
    parts = ((o - e) ** 2 / e for o, e in zip(observed, expected, strict=True))
    return sum(parts), len(expected) - 1


@pytest.mark.parametrize("p", ERRORS)
@pytest.mark.parametrize("mode", ["am", "um"])
def test_the_number_of_harq_s_retransmissions_is_geometric(p: float, mode: str) -> None:
    found, _ = alone(p, mode)
    observed = [found[RTT * retransmissions] for retransmissions in range(5)]
    observed.append(PACKETS - sum(observed))
    expected = [PACKETS * (1 - p) * p**k for k in range(5)] + [PACKETS * p**5]
    statistic, freedom = chi_square(observed, expected)
    assert statistic < CHI_SQUARE_99_9[freedom]


def test_um_loses_the_fifth_power_of_p() -> None:
    p = 0.3
    found, counters = alone(p, "um")
    lost = PACKETS - found.total()
    assert lost == counters.dropped_radio == counters.harq_failures
    deviation = (PACKETS * p**5 * (1 - p**5)) ** 0.5
    assert abs(lost - PACKETS * p**5) < 3 * deviation


def test_am_adds_the_status_round_trip_to_what_harq_gave_up() -> None:
    found, counters = alone(0.3, "am")
    later = {delay: count for delay, count in found.items() if delay > RTT * 4}
    assert (found.total(), counters.dropped_radio) == (PACKETS, 0)
    rounds = {divmod(delay, STATUS) for delay in later}
    assert rounds <= {(1, RTT * k) for k in range(5)} | {(2, RTT * k) for k in range(5)}
    assert sum(later.values()) == counters.harq_failures == counters.rlc_retransmissions


@pytest.mark.parametrize("p", ERRORS)
@pytest.mark.parametrize("mode", ["am", "um"])
def test_saturated_goodput_is_the_rate_less_the_share_of_failed_transmissions(
    p: float, mode: str
) -> None:
    found, counters = saturated(p, mode)
    transmissions = counters.blocks + counters.harq_retransmissions
    assert transmissions >= SECONDS * 1000 - 5
    # 8,000 slots: the share of errors has a standard deviation of (p (1 - p) / 8,000)^(1/2).
    margin = 4 * (p * (1 - p) / transmissions) ** 0.5 + 0.005  # and what is under way at the end
    if mode == "um":
        # A block carries bits of 2.5,000 bytes, so of up to 3 packets, each lost as a whole.
        margin += 3 * p**5
    assert found == (list(range(len(found))) if mode == "am" else sorted(found))
    goodput = len(found) * 1500 * 8 / SECONDS / RATE
    assert goodput == pytest.approx(1 - p, abs=margin)


def test_errors_of_blocks_are_those_of_the_seed_whatever_the_timing() -> None:
    """The k-th block has the k-th draw: packets nearer to each other meet the same errors."""
    far, _ = alone(0.3, "um")
    rlc = RlcParameters(mode="um", block_error=0.3, in_order=False)
    leg: RlcLeg[int] = RlcLeg(
        LegParameters(delay=ConstantDelay(DELAY)), rlc, make_capacity(RATE), Random(3)
    )
    leg.start(0)
    near: Counter[int] = Counter()
    for now in range(0, PACKETS * 3 * MS, 3 * MS):
        while (due := leg.next_timeout()) is not None and due <= now:
            near.update((due - packet - DELAY - MS) // (RTT * MS) for packet in leg.poll(due))
        leg.push(now, 100, now)
    while (due := leg.next_timeout()) is not None:
        near.update((due - packet - DELAY - MS) // (RTT * MS) for packet in leg.poll(due))
    assert near == {delay // RTT: count for delay, count in far.items()}
