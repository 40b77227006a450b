"""Legs and bearers over packets in C and in Python: the same verdicts, bytes and counters."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.native.elements import (
    BEARERS,
    RADIOS,
    STEPS,
    InC,
    InPython,
    carry,
    wanted,
)
from tests.native.extension import EXAMPLES, needs_native
from tests.real.element.fakes import Clock

pytestmark = needs_native


@settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    radios=st.tuples(RADIOS, RADIOS),
    pdcp=BEARERS,
    steps=STEPS,
)
def test_the_same_packets_get_the_same_verdicts_bytes_and_marks(
    radios: tuple[dict[str, Any], ...], pdcp: dict[str, Any], steps: Any, machine: Clock
) -> None:
    chosen = wanted(radios, pdcp)
    machine.now = 0
    python, native = InPython(chosen, machine), InC(chosen)
    try:
        carry(python, native, steps, pdcp["sn_bits"])
        compare(python, native)
    finally:
        native.close()


def compare(python: InPython, native: InC) -> None:
    assert [each.verdict for each in native.packets] == [each.verdict for each in python.packets]
    assert native.log == python.log
    assert native.copies() == python.copies()
    assert native.uncarried() == python.uncarried()
    assert native.receive.statistics() == python.receive.statistics()
    assert native.transmit.entity.statistics() == python.transmit.entity.statistics()
    for ours, reference in zip(native.legs, python.legs, strict=True):
        assert ours.leg.statistics() == reference.leg.statistics()
