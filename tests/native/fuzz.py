"""Hostile PDUs, reports and settings: `python -m tests.native.fuzz SECONDS [SEED]`.

Nothing is compared here: looked for is what a sanitizer or the C library ends a process for.
"""

from __future__ import annotations

import sys
import time
from random import Random
from typing import Any

from minitopo_dc.link import (
    Bernoulli,
    LegParameters,
    NormalDelay,
    RlcParameters,
    UniformDelay,
    make_capacity,
)
from minitopo_dc.native.pdcp import DELIVERIES
from minitopo_dc.pdcp import (
    FlowControl,
    LegReception,
    Pdu,
    Report,
    SduBuffer,
    Timer,
    make_policy,
    sn_format,
)
from minitopo_dc.pdcp.report import encode_report
from minitopo_dc.trace.model import OpportunityTrace, RateTrace
from minitopo_dc.units import QueueLimit
from tests.native.driven import DrivenLeg, DrivenReceiver, DrivenTransmitter

POLICIES = ("batch", "duplicate", "least-delay", "proportional", "threshold", "bandit")
EXTREMES = (0, 1, 2, 2**31, 2**32 - 1, 2**61, 2**62, 2**63 - 1)
HUGE = 2**61


def receiver(rng: Random, steps: int) -> None:
    """PDUs of any SN and leg, in bursts, at times that jump."""
    bits, legs = rng.choice((12, 16, 18)), rng.randint(1, 16)
    entity = DrivenReceiver(
        sn_format(bits),
        t_reordering=rng.choice(
            (*map(Timer, (None, 0, 10**6, 3 * 10**9)), Timer(is_adaptive=True))
        ),
        legs=legs,
        delivery=rng.choice(DELIVERIES),
        legs_keep_order=rng.random() < 0.5,
    )
    now, sn = 0, 0
    for sdu in range(steps):
        jump = rng.choice((1, 1, 1, 2, -1, 2 ** (bits - 1), rng.getrandbits(18)))
        sn, leg = (sn + jump) % 2**bits, rng.randrange(legs)
        now += rng.choice((0, 0, 1, 10**6, rng.getrandbits(40)))
        pdu = Pdu(sdu, rng.randint(0, 65535), leg=leg, sn=sn)
        entity.note(pdu)
        entity.push(pdu, now)
        if rng.random() < 0.3:
            entity.poll(now)
    entity.status(rng.choice((5, 6, 1500, 9000)))
    entity.statistics()
    entity.receptions()


def some_leg(rng: Random) -> DrivenLeg:
    """A leg with settings at the edges of what they may be."""
    rates = tuple(rng.choice((0, 1, 10**12, rng.getrandbits(30))) for _ in range(3))
    times = tuple(int(rng.choice((1, 10**6, 6 * 10**14))) for _ in range(3))
    edges = (0, times[0], times[0] + times[1])
    source: Any = rng.choice(
        (
            rng.choice((1, 10**12)),
            RateTrace("fuzz", edges, rates, sum(times)),
            OpportunityTrace("fuzz", (0, 1, 1, rng.randint(1, 10**8))),
        )
    )
    delay: Any = rng.choice(
        (
            NormalDelay(rng.choice((0, HUGE)), rng.choice((0, 10**12))),
            UniformDelay(0, rng.choice((0, 10**15))),
        )
    )
    parameters = LegParameters(
        queue=QueueLimit(rng.choice((None, 1, 5, 2**80)), rng.choice((None, 1, 2**80))),
        delay=delay,
        loss=rng.choice((None, Bernoulli(0.5))),
        reorder=rng.random() < 0.5,
        grant_ns=rng.choice((0, 1, 10**12)),
    )
    end: Any = rng.choice(("loop", "stop"))
    rlc = rng.choice((None, some_rlc(rng)))
    return DrivenLeg(parameters, make_capacity(source, end), Random(rng.getrandbits(32)), rlc)


def some_rlc(rng: Random) -> RlcParameters:
    """RLC whose times and counts are at the edges of what they may be."""
    slot = rng.choice((10**12, HUGE // 2))  # two of them, a leg's lead, are a time that fits
    return RlcParameters(
        mode=rng.choice(("am", "um")),
        slot_ns=slot,
        block_error=rng.choice((0.0, 0.5, 1.0)),
        harq_rtt_ns=rng.choice((slot, HUGE)),
        harq_retransmissions=rng.choice((0, 1, 4)),
        status_ns=rng.choice((0, 10**7, HUGE)),
        max_retx_threshold=rng.choice((1, 2)),
        in_order=rng.random() < 0.5,
        discard_ns=rng.choice((None, 1, 10**7, HUGE)),
    )


def some_backhaul(rng: Random) -> FlowControl:
    """A backhaul with anything that the settings allow."""
    return FlowControl(
        interval=rng.choice((10**6, 10**7)),
        delay=rng.choice((0, 10**6, 10**9)),
        desired=rng.choice((None, 1, 10**9)),
        status_bytes=rng.choice((None, 1, 10**5)),
        jitter=rng.choice((0, 10**6)),
        rate_bps=rng.choice((None, 1000, 10**9)),
        loss=rng.choice((0.0, 0.3, 1.0)),
        seed="fuzz",
    )


def some_buffer(rng: Random) -> SduBuffer[int]:
    packets, size = rng.choice((None, 1, 100)), rng.choice((None, 1500, 10**6))
    return SduBuffer(QueueLimit(packets, size), rng.choice((None, 10**7)))


def transmitter(rng: Random, steps: int) -> None:
    """SDUs over legs that go up and down, and reports of anything."""
    count = rng.randint(1, 16)
    legs = [some_leg(rng) for _ in range(count)]
    entity = DrivenTransmitter(
        sn_format(rng.choice((12, 16, 18))),
        make_policy(rng.choice(POLICIES), legs=count),
        legs=count,
        states=legs,
        reports=True,
        waiting=some_buffer(rng) if rng.random() < 0.7 else None,
        early=rng.random() < 0.5,
        flow_control=rng.choice(((), tuple(some_backhaul(rng) for _ in legs))),
    )
    now = 0
    for leg in legs:
        leg.start(now)
    for sdu in range(steps):
        now = min(now + rng.choice((0, 1, 10**6, rng.getrandbits(45))), HUGE)
        entity.push(sdu, rng.choice((1, 100, 1500, 65535)), now)
        if rng.random() < 0.1:
            rng.choice(legs).set_up(rng.random() < 0.5, now)
        if rng.random() < 0.2 and entity.feedback is not None:
            entity.feedback.push(some_report(rng, count, sdu), now)
        for _ in range(50):
            found = entity.poll(now)
            for pdu in found:
                legs[pdu.leg].push(pdu.sdu, rng.randint(1, 65540), now)
            if not found:
                break
        for leg in legs:
            leg.poll(now)
            leg.dropped()
    entity.dropped()


def some_report(rng: Random, legs: int, sent: int) -> bytes:
    """A report as it should be, with numbers at the edges, or garbage."""
    if rng.random() < 0.2:
        return rng.randbytes(rng.randint(0, 6 + 40 * legs + 9))
    found = []
    for _ in range(legs):
        following = rng.choice((0, rng.randint(0, sent + 1), rng.choice(EXTREMES)))
        pdus = rng.choice((1, *EXTREMES[1:])) if following else 0
        found.append(LegReception(following, pdus, rng.choice(EXTREMES), 0, rng.choice(EXTREMES)))
    return encode_report(
        Report(rng.randint(1, 2**32 - 1) if rng.random() < 0.1 else sent + 1, tuple(found))
    )


def fuzz(seconds: float, seed: int) -> int:
    """Return how many entities were tried in the time."""
    end, tried = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        rng = Random(seed + tried)
        (receiver, transmitter)[tried % 2](rng, 400)
        tried += 1
    return tried


if __name__ == "__main__":
    SEED = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    print(f"{fuzz(float(sys.argv[1]), SEED)} entities from seed {SEED}")  # noqa: T201
