"""Multipath QUIC's design with TCP and MPTCP beside it.

TCP and MPTCP run in guests (`minitopo-dc build linux`), with CUBIC on each path. A run of 20 MB
takes 2 s of a processor. mpquic_design has what else differs from the paper.
"""

from __future__ import annotations

from collections.abc import Iterator

from networks import CLASSES, LINUX, WAYS, Network, networks
from report import report

__all__ = ["cases", "report"]


def cases(version: str) -> Iterator[Network]:
    """Yield the downloads over all networks, once each."""
    number = {"full": 253, "quick": 24, "sample": 10}[version]
    for experiment in CLASSES:
        for scenario, labels in networks(experiment, number):
            for way, fields in (WAYS | LINUX).items():
                yield scenario.evolve(**fields), labels | {"way": way}
