"""Settings of RLC and HARQ: what is refused, what they make, what files hold."""

from __future__ import annotations

from typing import Any

from minitopo_dc.link import Leg, RlcLeg, RlcParameters
from minitopo_dc.scenario import LegSettings, RlcSettings

MS = 1_000_000


def leg(**fields: Any) -> LegSettings:
    return LegSettings.check({"rate_mbps": 20} | fields, "leg")


def test_without_fields_rlc_is_that_of_the_core_s_defaults() -> None:
    assert RlcSettings().parameters() == RlcParameters()


def test_every_field_reaches_the_core() -> None:
    settings = leg(
        rlc={
            "mode": "um",
            "block_error_percent": 30,
            "slot_ms": 0.5,
            "harq_rtt_ms": 4,
            "harq_retransmissions": 3,
            "status_ms": 20.5,
            "max_retx_threshold": 32,
            "in_order": False,
            "discard_ms": 100,
        }
    )
    assert settings.rlc is not None
    assert settings.rlc.parameters() == RlcParameters(
        mode="um",
        slot_ns=MS // 2,
        block_error=0.3,
        harq_rtt_ns=4 * MS,
        harq_retransmissions=3,
        status_ns=20_500_000,
        max_retx_threshold=32,
        in_order=False,
        discard_ns=100 * MS,
    )


def test_rlc_makes_another_leg() -> None:
    assert isinstance(leg(rlc={}).build("1"), RlcLeg)
    assert isinstance(leg().build("1"), Leg)


CHANGE = {"at_s": 2, "block_error_percent": 30, "delay_ms": 20}


def test_a_change_of_errors_leaves_the_rest_of_rlc() -> None:
    [(_, stage)] = leg(rlc={"mode": "um"}, changes=[CHANGE]).stages()
    assert stage.rlc == RlcSettings(mode="um", block_error_percent=30)
    assert stage.delay_ms == 20
