"""MP-QUIC, MPTCP and Dual Connectivity over several cellular networks.

Krämer et al., "On the Potential of MP-QUIC as Transport Layer Aggregator for Multiple Cellular
Networks", Electronics 11 (2022) 1492: tables 4 and 5, figures 6 and 7.

The drives are synthetic, as the paper's logs are not public; their best channel has the paper's
mean capacity (docs/cellular.md). The delay curve, the queues and the handover rule are open in the
paper; the sensitivity experiments vary them. The paper's BBR is compared with picoquic's bbr1: its
bbr, version 3, has a window that grows without limit on these drives in cases 3 and 4. MPTCP has
the kernel's own windows; the paper's were iperf's, 85.3 kB and 5 MB. The paper's picoquic is of
2022. What was found out about the differences is in studies/cellular/measured.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from report import report

import minitopo_dc as dc

__all__ = ["cases", "report"]

TRACES = Path(__file__).resolve().parents[2] / "traces"
Change = dict[str, Any]
Case = tuple[dc.Scenario, dict[str, Any]]
CASES = ("sp", 1, 2, 3, 4)
"""The paper's: without handovers, and how many paths there are at once."""
QUEUES = {"residential": 10, "road": 20}
"""Packets; on the road that is 18.7 Mbit/s times 2 x 6.4 ms."""


def drive(environment: str) -> list[Any]:
    """Return the four channels of a drive, each the same in both directions."""
    directions = [
        {
            "trace": TRACES / f"drive_{environment}.csv",
            "trace_column": f"channel_{channel}_mbps",
            "delay_curve": "power",
            "jitter_ms": 0,
            "queue_packets": QUEUES[environment],
        }
        for channel in (1, 2, 3, 4)
    ]
    return [{"downlink": direction, "uplink": direction} for direction in directions]


def every_leg(**changes: Any) -> Change:
    """Return a change of both directions of all four legs."""
    return {"legs": {leg: {"downlink": changes, "uplink": changes} for leg in range(4)}}


SYSTEM = {"receive_buffer_bytes": None}  # the system's own: 212,992 on Linux
BASE = {
    environment: dc.Scenario(
        legs=drive(environment),
        mode="multipath",
        transport="mpquic-picoquic",
        options=SYSTEM,
        congestion_control="cubic-picoquic",
        workload=dc.Download(size_mb=40),  # section 4
        handover={"case": "sp"},
        clock="virtual",
    )
    for environment in QUEUES
}
CUBIC: dict[str, Change] = {"MP-QUIC, CUBIC": {}}
QUIC_WAYS: dict[str, Change] = {
    "MP-QUIC, NewReno": {"congestion_control": "newreno"},
    **CUBIC,
    "MP-QUIC, FAST": {"congestion_control": "fast"},
    "MP-QUIC, BBRv1": {"congestion_control": "bbr1"},
}
KERNEL: Change = {"congestion_control": "cubic", "options": {}}
MPTCP: dict[str, Change] = {
    # As in the paper the links of lost channels go down.
    "MPTCP": {**KERNEL, "transport": "mptcp", "handover": {"by": "legs"}}
}
RFC: dict[str, Change] = {"CUBIC of RFC 9438": {"congestion_control": "cubic"}}
RECOVERY: Change = {"data_recovery": True, "report_ms": 20}
LATE: Change = RECOVERY | {
    "numbering": "late",
    "t_reordering_ms": "adaptive",
    "legs_keep_order": True,
}


def bearer(mode: str = "dc", **pdcp: Any) -> Change:
    """Return QUIC over Dual Connectivity with a bearer."""
    return {"transport": "quic-picoquic", "mode": mode, "split_uplink": True, "pdcp": pdcp}


DC_WAYS: dict[str, Change] = {
    **CUBIC,
    "DC batch": bearer(**RECOVERY),
    "DC duplicate": bearer("dc-duplicate", **LATE),
    "DC least-delay": bearer(**LATE, split="least-delay"),
    "DC proportional": bearer(**LATE, split="proportional"),
}
SINGLE: dict[str, Change] = {
    **CUBIC,
    "QUIC (picoquic), CUBIC": {"transport": "quic-picoquic", "mode": "sc"},
    "TCP, CUBIC": {**KERNEL, "transport": "tcp", "mode": "sc"},
}
EXPONENTIAL = every_leg(delay_curve="exponential")
CHOICES: dict[str, Change] = {
    "none": {},
    "delay: exponential": EXPONENTIAL,
    "delay: linear": every_leg(delay_curve="linear"),
    "delay: 19 ms": every_leg(delay_curve="constant"),
    "queue 50": every_leg(queue_packets=50),
    "queue 100": every_leg(queue_packets=100),
    "queue 200": every_leg(queue_packets=200),
    "trigger 0 s": {"handover": {"time_to_trigger_s": 0}},
    "trigger 3 s": {"handover": {"time_to_trigger_s": 3}},
    "hysteresis 20 %": {"handover": {"hysteresis": 0.2}},
    "no overlap": {"handover": {"overlap_s": 0}},
    "overlap 1 s": {"handover": {"overlap_s": 1}},
    "give up after 1 s": {"handover": {"give_up_s": 1}},
    "backup": {"handover": {"former": "backup"}},
}
"""What is open in the paper."""
ONE_CHANGE: dict[str, Change] = {
    "none": {},
    "reorder": every_leg(reorder=True),
    "queue 20 (two products)": every_leg(queue_packets=20),
    "delay: exponential": EXPONENTIAL,
    "delay: exponential, queue 33 (one product)": every_leg(
        delay_curve="exponential", queue_packets=33
    ),
    "delay: 19 ms": every_leg(delay_curve="constant"),
    "flow control of picoquic": {
        "options": SYSTEM | {"max_data": 1 << 20, "max_stream_data": 2 << 20}
    },
}
DEMOTED = {
    "as now": "as-now",
    "linger": "linger",
    "linger, refuse": "refuse",
    "linger, fall back": "fall-back",
    "all, 2022": "2022",
}
"""How paths are given up: what the paper's picoquic did (commit 48525d89), by reading."""


def returns(environment: str, **without: Any) -> Change:
    """Return the change to many returns to links that went down, without some condition."""
    conditions = {
        "time_to_trigger_s": 0,
        "unused_legs": "down",
        "demoted_paths": "2022",
        "delay_curve": "exponential",
        "trace": f"{environment}_noisy",
        **without,
    }
    trace = TRACES / f"drive_{conditions['trace']}.csv"
    return {
        **every_leg(trace=trace, delay_curve=conditions["delay_curve"]),
        "handover": {name: conditions[name] for name in ("time_to_trigger_s", "unused_legs")},
        "options": SYSTEM | {"demoted_paths": conditions["demoted_paths"]},
    }


WITHOUT: dict[str, Change] = {
    "nothing": {},
    "noise": {"trace": "residential"},
    "immediate handovers": {"time_to_trigger_s": 1},
    "links that go down": {"unused_legs": "up"},
    "paths of 2022": {"demoted_paths": "as-now"},
    "exponential delay": {"delay_curve": "power"},
}
MANY, FEW = range(0, 1800, 100), range(0, 1800, 300)
"""Starts within a drive, in s."""


def cases(version: str) -> Iterator[Case]:
    """Yield all experiments; the sample has MP-QUIC with CUBIC and MPTCP, and few starts."""
    sample = version == "sample"
    main = CUBIC | MPTCP if sample else QUIC_WAYS | MPTCP
    starts = MANY if version == "full" else range(0, 1800, 600)
    few = {"full": FEW, "quick": starts, "sample": range(1)}[version]
    one = [600] if sample else starts
    size: Change = {} if version == "full" else {"workload": {"size_mb": 10}}
    for place in QUEUES:
        base = BASE[place].evolve(**size)
        plain: dict[str, Change] = {"": {}}
        yield from crossed(place, base, main, plain, starts=starts)
        yield from crossed(f"dc-{place}", base, DC_WAYS, plain, starts=one, handovers=CASES[1:])
        alone = {place: plain[""]}
        yield from crossed("single-path", base, SINGLE, alone, starts=one, handovers=["sp"])
        lossy = {"delay: exponential": EXPONENTIAL}
        yield from crossed(f"losses-and-delay-{place}", base, RFC, lossy, starts=starts)
        noisy = {"nothing": returns(place)}
        yield from crossed(f"returns-{place}", base, QUIC_WAYS, noisy, starts=starts)
        if place == "residential":
            yield from varied(base, few, starts if not sample else few, sample=sample)
    yield from figures(size)


def varied(base: dc.Scenario, few: Any, starts: Any, *, sample: bool) -> Iterator[Case]:
    """Yield what varies the open choices, in the residential area."""

    def kept(choices: Mapping[str, Change], *names: str) -> dict[str, Change]:
        return {n: c for n, c in choices.items() if not sample or n in names}

    for case in (1, 2):
        choices = kept(CHOICES, "none")
        yield from crossed(
            f"sensitivity-{case}", base, CUBIC, choices, starts=few, handovers=[case]
        )
    changes = kept(ONE_CHANGE, "none")
    yield from crossed("one-change", base, CUBIC | RFC, changes, starts=few)
    demoted = kept(
        {n: {"options": SYSTEM | {"demoted_paths": to}} for n, to in DEMOTED.items()},
        *("as now", "all, 2022"),
    )
    three = {name: QUIC_WAYS[name] for name in list(QUIC_WAYS) if "FAST" not in name}
    ones = [1] if sample else [1, 2]
    yield from crossed("given-up-paths", base, three, demoted, starts=few, handovers=ones)
    without = {name: returns("residential", **less) for name, less in WITHOUT.items()}
    yield from crossed("returns-without", base, CUBIC, kept(without, "nothing"), starts=starts)


def crossed(
    experiment: str,
    base: dc.Scenario,
    ways: Mapping[str, Change],
    changes: Mapping[str, Change],
    *,
    starts: Iterable[int] = (0,),
    handovers: Iterable[Any] = CASES,
) -> Iterator[Case]:
    """Yield each way with each change, from each start, in each of the paper's cases."""
    for start in starts:
        for case in handovers:
            begun = base.evolve(trace_offset_s=start, handover={"case": case})
            for name, change in changes.items():
                for way, fields in ways.items():
                    labels = {"experiment": experiment, "way": way, "case": str(case)}
                    named = {"change": name} if name else {}
                    yield (
                        begun.evolve(**fields).evolve(**change),
                        labels | named | {"start_s": start},
                    )


def figures(size: Change) -> Iterator[Case]:
    """Yield the runs of figures 6 and 7, which show goodput per path over time."""
    legs = [
        {direction: {"rate_mbps": mbps, "jitter_ms": 0, "queue_packets": 50} for direction in
         ("downlink", "uplink")} for mbps in (4, 8)
    ]  # fmt: skip
    away = {**legs[1], "outages": [[0, 2], [4, 6], [8, 10]]}
    six = (
        BASE["road"]
        .evolve(**size)
        .evolve(legs=[legs[0], away], workload={"duration_s": 8}, handover={"case": 2})
    )
    shown = CUBIC | {"MP-QUIC, BBRv1": QUIC_WAYS["MP-QUIC, BBRv1"]} | MPTCP
    for way, fields in shown.items():
        yield six.evolve(**fields), {"experiment": "figure-6", "way": way, "case": "2"}
    seven = (
        BASE["residential"]
        .evolve(**size)
        .evolve(trace_offset_s=300, handover={"case": 2}, congestion_control="bbr1")
    )
    labels = {"experiment": "figure-7", "way": "MP-QUIC, BBRv1", "case": "2", "start_s": 300}
    yield seven, labels
