"""The ways to use two legs that the campaigns of this study compare, as fields of a scenario."""

from __future__ import annotations

from typing import Any

Fields = dict[str, Any]
LATE: Fields = {"numbering": "late", "t_reordering_ms": "adaptive", "legs_keep_order": True}
"""All that PDCP can do beside its split: late numbers, a t-Reordering that it finds itself, and
losses by the order in which a leg delivers."""
LEAST_DELAY: Fields = {"split": "least-delay", **LATE}
PROPORTIONAL: Fields = {"split": "proportional", "report_ms": 20, **LATE}
ALONE: dict[str, Fields] = {f"leg-{leg}": {"mode": "sc", "leg": leg} for leg in (1, 2)}
MULTIPATH: Fields = {"mode": "multipath", "paths": {"initial": [1, 2], "each_carries": False}}
MPQUIC: Fields = {"transport": "mpquic-picoquic", **MULTIPATH}
TCP: Fields = {"transport": "tcp", "options": {}}
MPTCP: Fields = {"transport": "mptcp", "options": {}, **MULTIPATH}


def dual(down: Fields, up: Fields | None = None, **others: Any) -> Fields:
    """Return Dual Connectivity with a split uplink; without `up`, PDCP is the same both ways."""
    fields: Fields = {"pdcp": down, "split_uplink": True, **others}
    return fields if up is None else fields | {"uplink_pdcp": up}


COPIES = dual(LATE, {"split": "duplicate", **LATE}, mode="dc-duplicate")
"""All packets over both legs, in both directions."""
