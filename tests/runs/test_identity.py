"""A run's identity stays when a default changes."""

from __future__ import annotations

from typing import Any

import pytest

from minitopo_dc.errors import InputError
from minitopo_dc.runs.identity import run_id
from minitopo_dc.scenario import Scenario

UPLINK = {"rate_mbps": 20, "delay_ms": 10, "queue_packets": 10_000}
LEGS = [{"downlink": {"rate_mbps": 20}, "uplink": UPLINK}] * 2
SYSTEM = {"receive_buffer_bytes": None}
LARGE = {"receive_buffer_bytes": 33_554_432}
RENO = {"legs": LEGS, "congestion_control": "reno"}
FLOWS = [
    {"mode": "dc"},
    {"mode": "multipath", "transport": "mpquic-picoquic", "options": SYSTEM},
    {"mode": "sc", "transport": "tcp"},
]
OF_VERSION_0_1: dict[str, dict[str, Any]] = {
    "10e989aff135cf69": {"transport": "quic", "mode": "dc", "options": SYSTEM} | RENO,
    "1d6818170b1e98f1": {"transport": "tcp", "mode": "sc", "legs": LEGS},
    "f9ee19df1e32b9e9": {"transport": "quic-picoquic", "mode": "sc", "options": LARGE} | RENO,
    "bb054076a13bac15": {"transport": "quic-picoquic", "mode": "sc", "legs": LEGS, "options": LARGE}
    | {"congestion_control": "cubic-picoquic"},
    "29b186cbf322ee67": {"transport": "quic-picoquic", "mode": "sc", "legs": LEGS, "options": LARGE}
    | {"congestion_control": "cubic"},
    "5d0b5780d24733e1": {"transport": "quic", "mode": "flows", "flows": FLOWS, "options": SYSTEM}
    | RENO,
}
"""Identities that the first version gave to these, some of which were its defaults; its `cubic` of
picoquic was picoquic's own, and RFC 9438's `cubic-rfc9438`."""


@pytest.mark.parametrize("identity", OF_VERSION_0_1)
def test_a_run_of_the_first_version_has_the_identity_that_it_had(identity: str) -> None:
    assert run_id(Scenario.check(OF_VERSION_0_1[identity], "test")) == identity


def test_what_is_not_named_has_another_identity_than_the_first_version_s_default() -> None:
    for fields in OF_VERSION_0_1.values():
        named = ("legs", "congestion_control", "options")
        bare = {name: value for name, value in fields.items() if name not in named}
        legs = [{"downlink": {"rate_mbps": 20}}] * 2
        assert run_id(Scenario.check({**bare, "legs": legs}, "test")) not in OF_VERSION_0_1


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"transport": "quicc"}, "transport: quicc; allowed: "),
        (
            {"legs": [{"downlink": {"trace": "no.csv"}}]},
            r"legs\.0\.downlink\.trace: no\.csv: No such",
        ),
        (
            {"legs": LEGS, "real": {"backhaul": [{"trace": "no.csv"}]}},
            r"real\.backhaul\.0\.downlink\.trace: no\.csv: No such",
        ),
    ],
)
def test_what_cannot_be_identified_is_an_error_of_the_input(
    fields: dict[str, Any], words: str
) -> None:
    scenario = Scenario(**{"transport": "tcp", "mode": "sc", "legs": LEGS, **fields})
    with pytest.raises(InputError, match=words):
        run_id(scenario)
