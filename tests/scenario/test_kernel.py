"""Legs of the kernel's: what they cannot be, and bearers that have to see their legs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.fields import SettingsError
from minitopo_dc.runs.check import check_real, check_scenario
from minitopo_dc.scenario import Pdcp, Scenario
from minitopo_dc.scenario.checks import check_unseen_legs
from minitopo_dc.scenario.element import ElementSettings

STEADY: dict[str, Any] = {"rate_mbps": 20, "jitter_ms": 0}
STILL: dict[str, Any] = {"downlink": STEADY, "uplink": STEADY}
KERNEL: dict[str, Any] = {"real": {"backend": "kernel"}}
SEEING = {"split": "least-delay"}
REPORTED = {"report_ms": 20}
MULTIPATH = {"mode": "multipath", "transport": "mptcp"}
FLOWS = {"mode": "flows", "flows": [{"mode": "dc"}, {"mode": "sc"}]}


def scenario(*legs: dict[str, Any], **fields: Any) -> Scenario:
    values = {"transport": "quic", "mode": "dc", "legs": legs or [STILL] * 2, "clock": "real"}
    return Scenario.check(values | KERNEL | fields, "test")


@pytest.mark.parametrize(
    ("radio", "words"),
    [
        ({"outages": [[1, 2]]}, "outages"),
        ({"burst_loss": {"p": 0.1, "r": 0.1}}, "burst_loss"),
        ({"queue_discipline": "pie"}, "queue_discipline pie"),
        ({"jitter_ms": 1}, "jitter_ms without 'jitter: "),
    ],
)
def test_what_only_the_element_s_legs_have_is_refused(radio: dict[str, Any], words: str) -> None:
    way = {"downlink": STEADY, "uplink": STEADY | radio}
    with pytest.raises(SettingsError, match=rf"^legs\.1\.uplink: backend kernel has no {words}"):
        check_real(scenario(STILL, way))
    real = {"backend": "kernel", "backhaul": [way]}
    with pytest.raises(SettingsError, match=r"^real\.backhaul\.0\.uplink: "):
        check_real(scenario(real=real))
    check_real(scenario(STILL, way, real={"backend": "user"}))


def test_opportunities_wifi_and_captures_are_refused_too(tmp_path: Path) -> None:
    (tmp_path / "trace").write_text("1\n2\n")
    leg = STILL | {"downlink": {"trace": str(tmp_path / "trace"), "jitter_ms": 0}}
    with pytest.raises(SettingsError, match=r"^legs\.1\.downlink: trace .*rate"):
        check_real(scenario(STILL, leg))
    with pytest.raises(SettingsError, match=r"legs\.0\.downlink: .*wifi.*user"):
        check_scenario(scenario({"wifi": {}}, STILL))
    with pytest.raises(SettingsError, match=r"real\.capture: legs"):
        check_real(scenario(real={"backend": "kernel", "capture": ["legs"]}))


@pytest.mark.parametrize(
    ("pdcp", "words"),
    [
        (SEEING, "pdcp.split: least-delay sees its legs, .* do not show; use backend: user$"),
        (REPORTED, "pdcp.report_ms: backend kernel sends no reports; use backend: user$"),
        ({"numbering": "late"}, "pdcp: numbering late, .* use backend: user"),
        ({"flow_control": {}}, "pdcp: numbering late, .* use backend: user"),
        ({"data_recovery": True, "report_ms": 20}, "pdcp: numbering late, .* use backend: user"),
        ({"leg_failure_ms": 100, "report_ms": 20}, "pdcp: numbering late, .* use backend: user"),
        ({"mark_above_ms": 5}, "pdcp.mark_above_ms sees the legs"),
        ({"duplication": {"loss_percent": 2}}, "pdcp.duplication: loss_percent and deadline_ms"),
        ({"duplication": {"deadline_ms": 20}}, "pdcp.duplication: loss_percent and deadline_ms"),
    ],
)
def test_a_bearer_that_sees_or_follows_its_legs_is_refused(
    pdcp: dict[str, Any], words: str
) -> None:
    for mode in ({"mode": "dc"}, FLOWS):
        with pytest.raises(SettingsError, match=f"^{words}"):
            check_real(scenario(pdcp=pdcp, **mode))
    with pytest.raises(SettingsError, match=f"^uplink: {words}"):
        check_real(scenario(split_uplink=True, uplink_pdcp=pdcp))
    with pytest.raises(SettingsError, match=words):
        check_unseen_legs(Pdcp(**pdcp), 2, of_kernel=True)


OWN_JITTER = STEADY | {"jitter_ms": 1, "jitter": "uniform", "reorder": True}


@pytest.mark.parametrize(
    "fields",
    [
        *({"mode": "sc", "pdcp": pdcp} for pdcp in (SEEING, REPORTED)),
        *(MULTIPATH | {"pdcp": pdcp} for pdcp in (SEEING, REPORTED)),
        *({"real": {"backend": "user"}, "pdcp": pdcp} for pdcp in (SEEING, REPORTED)),
        {"pdcp": {"duplication": {"below_bytes": 300}}},
        {"legs": [{"downlink": OWN_JITTER, "uplink": OWN_JITTER}], "mode": "sc"},
    ],
)
def test_without_bearer_or_without_such_legs_there_is_nothing_to_refuse(
    fields: dict[str, Any],
) -> None:
    check_real(scenario(**fields))


def test_an_element_of_the_kernel_s_legs_refuses_it_too() -> None:
    leg = {"leg": 1, "interface": "leg1", "radio": STEADY, "seed": "1"}
    bearer = {"bearer": 1, "interface": "core", "legs": [1], "pdcp": SEEING}
    fields = {"host": "gnb", "directory": ".", "legs": [leg], "transmit": [bearer]}
    with pytest.raises(SettingsError, match=r"least-delay .*backend: user"):
        ElementSettings.check(fields | {"backend": "kernel"}, "test")
