"""Which split of Dual Connectivity comes nearest to multipath?

Each split policy over equal and unequal legs, loss and LTE traces: the papers' batches, then what
late numbers, an adaptive t-Reordering and loss by the legs' order add, then all that PDCP can do.
TCP and MPTCP are the same again with other stacks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pandas as pd
from networks import CAPACITIES, Fields
from ways import ALONE, LATE, LEAST_DELAY, PROPORTIONAL, TCP

import minitopo_dc as dc
from minitopo_dc import plots

Case = tuple[dc.Scenario, dict[str, Any]]
TRACES = [trace for trace, _ in CAPACITIES["lte"]]
"""Of both legs; real ones in place of the embedded ones go here."""
LEG = dc.Leg(rate_mbps=20, delay_ms=10, jitter_ms=1, uplink={"rate_mbps": 20})
"""As in the thesis, table 4.3."""
ORDER: Fields = {"t_reordering_ms": "adaptive", "legs_keep_order": True}
CREDIT: Fields = {"split": "credit", **LATE, "flow_control": {"backhaul_ms": 5}}
SELECTIVE: Fields = {**LEAST_DELAY, "report_ms": 20, "duplication": {"loss_percent": 0.05}}
COPIES: Fields = {"mode": "dc-duplicate", "pdcp": LATE}
MULTIPATH: Fields = {"mode": "multipath"}
WAYS: dict[str, Fields] = {
    **ALONE,
    "batch": {},  # the papers'
    "batch-late": {"pdcp": {"numbering": "late"}},
    "batch-order": {"pdcp": ORDER},
    "least-delay-early": {"pdcp": {"split": "least-delay"}},
    "least-delay": {"pdcp": LEAST_DELAY},
    "proportional": {"pdcp": PROPORTIONAL},
    "threshold": {"pdcp": {"split": "threshold", **LATE}},
    "bandit": {"pdcp": {"split": "bandit", "report_ms": 20, **LATE}},
    "credit": {"pdcp": CREDIT},
    "selective": {"pdcp": SELECTIVE},  # copies of what a leg that loses carries
    "duplicate": COPIES,
    "mpquic": {"transport": "mpquic-picoquic", **MULTIPATH},
}
TCP_WAYS: dict[str, Fields] = {
    **{f"tcp-{name}": WAYS[name] | TCP for name in ("batch", "least-delay", "credit", "duplicate")},
    "mptcp": {"transport": "mptcp", "options": {}, **MULTIPATH},
}
STACKS: dict[str, Fields] = {
    "quic": {"transport": "quic", "options": {"receive_buffer_bytes": 33_554_432}},
    "picoquic": {},
    "tcp": TCP,
}
ANSWERS = ("leg-1", "batch", "least-delay", "credit", "selective", "duplicate", "mpquic")


def links() -> dict[str, list[dc.Leg]]:
    """Return the pairs of legs, by what of them is not 20 Mbit/s and 10 ms."""
    return {
        "20 + 20": [LEG, LEG],
        "30 + 10": [LEG.evolve(rate_mbps=30), LEG.evolve(rate_mbps=10)],
        "33.3 + 6.7": [LEG.evolve(rate_mbps=33.3), LEG.evolve(rate_mbps=6.7)],
        "10, 30 ms": [LEG, far(20, 30)],
        "10, 100 ms": [LEG, far(20, 100)],
        "30 + 10, 10, 40 ms": [LEG.evolve(rate_mbps=30), far(10, 40)],
        **{f"{loss:g} % loss": [LEG.evolve(loss_percent=loss)] * 2 for loss in (0.1, 0.5, 1, 2)},
    }


def far(rate_mbps: float, delay_ms: float) -> dc.Leg:
    """Return a leg with a longer delay down, and the papers' up."""
    return LEG.evolve(rate_mbps=rate_mbps, delay_ms=delay_ms, uplink={"delay_ms": 10})


def at(
    experiment: str,
    legs: Iterable[tuple[dict[str, Any], list[dc.Leg]]],
    ways: dict[str, Fields],
    **fields: Any,
) -> Iterator[Case]:
    """Yield each pair of legs, which has its labels, in each way."""
    common: Fields = {
        "transport": "quic-picoquic",
        "options": {"receive_buffer_bytes": None},  # the system's own: 212,992 on Linux
        "mode": "dc",
        "clock": "virtual",
        "workload": dc.Download(size_mb=20),
    }
    for labels, two in legs:
        for name, way in ways.items():
            told = {"experiment": experiment, "way": name, **labels}
            chosen = common | fields | {"legs": two} | way
            own = "-picoquic" if chosen["transport"].endswith("-picoquic") else ""
            chosen.setdefault("congestion_control", "cubic" + own)  # when the study was first run
            yield dc.Scenario(**chosen), told


def cases(version: str) -> Iterator[Case]:
    """Yield all cases, the same in all versions."""
    del version
    named = [({"legs": name}, two) for name, two in links().items()]
    traces = [
        ({"legs": "LTE"}, [dc.Leg(trace=trace, uplink={"rate_mbps": 20}) for trace in TRACES])
    ]
    yield from at("links", named, WAYS)
    yield from at("traces", traces, WAYS)
    yield from at("tcp-traces", traces, TCP_WAYS)
    yield from at("tcp", named, TCP_WAYS)
    for name, way in NUMBERED.items():
        yield from at("numbering", [({"bearer": name}, [LEG, LEG])], STACKS,
                      congestion_control="reno", **way)  # fmt: skip
    asked = dc.RequestResponse(response_bytes=100_000, interval_s=0.25, duration_s=20)
    yield from at("delay", named, {name: WAYS[name] for name in ANSWERS}, workload=asked)
    yield from uplinks()


NUMBERED: dict[str, Fields] = {
    "one leg, no PDCP": {"mode": "sc"},
    "one leg, early": {"pdcp": {"ratio": [1, 0]}},
    "one leg, late": {"pdcp": {"ratio": [1, 0], "numbering": "late"}},
    "two legs, early": {},
    "two legs, late": {"pdcp": {"numbering": "late"}},
}
UPLINKS: dict[str, Fields] = {
    "leg 1 alone": {},
    "batch": {"numbering": "late"},
    "threshold": {"split": "threshold", "numbering": "late",  # TS 38.323, ul-DataSplitThreshold
                  "parameters": {"threshold_bytes": 3200}},
    "least-delay": {"split": "least-delay", "numbering": "late"},
}  # fmt: skip


def uplinks() -> Iterator[Case]:
    """Yield requests of 100 kB over uplinks of 1 and 5 Mbit/s."""
    asked = dc.RequestResponse(
        request_bytes=100_000, response_bytes=1000, interval_s=1, duration_s=20
    )
    legs = [dc.Leg(rate_mbps=20, uplink={"rate_mbps": rate}) for rate in (1, 5)]
    ways = {name: STACKS[name] for name in ("quic", "picoquic")}
    for name, up in UPLINKS.items():
        split: Fields = {"split_uplink": True, "uplink_pdcp": up} if up else {}
        yield from at("uplink", [({"uplink": name}, legs)], ways,
                      workload=asked, pdcp=LEAST_DELAY, **split)  # fmt: skip


def seeds(version: str) -> range:
    """Return three seeds, or one."""
    return range(1, 4 if version == "full" else 2)


def report(runs: pd.DataFrame) -> Iterator[tuple[str, Any]]:
    """Yield what the default report has not: bytes that copies cost, and slowest answers."""
    used = (runs["leg_bytes_1"] + runs["leg_bytes_2"]) / runs["size_bytes"]
    loads = runs.assign(bytes_per_byte=used)
    ways = ["batch", "credit", "selective", "duplicate", "mpquic"]
    mine = loads[(loads["experiment"] == "links") & loads["way"].isin(ways)]
    if len(mine):
        yield "Bytes on the legs for each byte", plots.bars(mine, "legs", "way", "bytes_per_byte")
    for name, x in (("delay", "legs"), ("uplink", "uplink")):
        asked = runs[runs["experiment"] == name]
        if len(asked):
            yield f"{name}: slowest answer (ms)", plots.bars(asked, x, "way", "delay_max_ms")
