"""Which core an element has, and why not the other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.fields import SettingsError
from minitopo_dc.native import library
from minitopo_dc.real.element.__main__ import _python_reason
from minitopo_dc.real.element.native import lacking
from minitopo_dc.scenario.element import ElementSettings
from tests.native.extension import needs_native
from tests.real.element.fake_host import LEGS, RECEIVER, SENDER

WIRE = {"leg": 3, "interface": "gnb-eth3"}
HOP = {"leg": 1, "gateway": "10.1.1.2", "link_layer": "00:00:00:00:00:01", "table": 101}
REPORT = {"legs": [{"leg": 1, "source": "10.1.1.1", "destination": "10.1.1.2"}], "port": 9}


def wanted(**fields: Any) -> ElementSettings:
    values = {"host": "gnb", "legs": LEGS, "directory": Path()}
    return ElementSettings.check(values | fields, "test")


def sending(**pdcp: Any) -> dict[str, Any]:
    return {"transmit": [SENDER | {"pdcp": pdcp}]}


@needs_native
@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"transmit": [SENDER], "receive": [RECEIVER], "ip_version": 6},
        sending(split="least-delay", numbering="late"),
        {"pcap": "downlink", "transmit": [SENDER], "receive": [RECEIVER]},
        {"legs": [LEGS[0] | {"radio": {"rate_mbps": 10, "outages": [[1, 2]], "jitter_ms": 3}}]},
        {"legs": [LEGS[0] | {"radio": {"rate_mbps": 10, "rlc": {}}}]},
    ],
)
def test_what_c_has_is_native(fields: dict[str, Any]) -> None:
    assert lacking([wanted(**fields)]) is None
    assert _python_reason([wanted(**fields)]) is None


@needs_native
@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"backend": "kernel"}, "it has backend: kernel"),
        ({"wires": [WIRE]}, "it has wires"),
        ({"next_hops": [HOP]}, "it has next_hops"),
        (
            {
                "transmit": [
                    SENDER | {"pdcp": {"report_ms": 20, "data_recovery": True}, "report": REPORT}
                ]
            },
            "pdcp has data_recovery",
        ),
    ],
)
def test_what_c_lacks_is_python_s_and_told(fields: dict[str, Any], why: str) -> None:
    assert _python_reason([wanted(**fields)]) == why
    with pytest.raises(SettingsError, match=f"core: native: {why}; allowed: auto, python"):
        _python_reason([wanted(core="native", **fields)])


def test_python_is_chosen_where_settings_say_so() -> None:
    assert _python_reason([wanted(core="python")]) == "the settings say so"


def test_hosts_in_one_process_are_python_s() -> None:
    assert _python_reason([wanted(), wanted(host="ue")]) == "several hosts in one process"


def test_without_the_native_core_auto_is_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "missing", lambda: "it is not built")
    assert _python_reason([wanted()]) == "it is not built"
