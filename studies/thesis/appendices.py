"""Other transports over Dual Connectivity: appendices E to H of the thesis.

They have figures only: TCP with CUBIC, ngtcp2 with NewReno and CUBIC. Beside them stand what the
thesis does not have, fairness of aioquic with the default buffer and of TCP. All run on the virtual
clock where minitopo-dc build linux was run.
"""

from __future__ import annotations

from collections.abc import Iterator

import fairness
import throughput
import throughput_lte
from testbed import APPENDIX, WAYS, Case

BESIDE_DC = {way: change for way, change in WAYS.items() if way not in fairness.LARGE} | APPENDIX


def cases(version: str) -> Iterator[Case]:
    """Yield appendix F, then E, then G and H."""
    for of, made in (
        ("throughput", throughput.tables(version, APPENDIX)),
        ("throughput_lte", throughput_lte.figures(version, APPENDIX)),
        ("fairness", fairness.tables(version, BESIDE_DC)),
    ):
        for scenario, labels in made:
            yield scenario, labels | {"experiment": f"{of}: {labels['experiment']}"}


def seeds(version: str) -> range:
    """Return ten of them (section 4.4), or one."""
    return range(1, 11 if version == "full" else 2)
