"""A run's identity stays when a default changes, and no shipped campaign has a changed default."""

from __future__ import annotations

from typing import Any

import pytest

from minitopo_dc.campaign.file.fields import campaign_names, find_campaign
from minitopo_dc.campaign.file.scenarios import Overrides, Planner, read_file
from minitopo_dc.errors import InputError
from minitopo_dc.runners.base import get_runner
from minitopo_dc.scenario import Scenario
from minitopo_dc.scenario.identity import run_id

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
    "5d0b5780d24733e1": {"transport": "quic", "mode": "flows", "flows": FLOWS, "options": SYSTEM}
    | RENO,
}
"""Identities that the first version gave to these, some of which were its defaults."""
NEWER = ("calls", "latency", "study", "video")
"""Campaigns that came with the defaults of today."""


@pytest.mark.parametrize("identity", OF_VERSION_0_1)
def test_a_run_of_the_first_version_has_the_identity_that_it_had(identity: str) -> None:
    assert run_id(Scenario.check(OF_VERSION_0_1[identity], "test")) == identity


def test_what_is_not_named_has_another_identity_than_the_first_version_s_default() -> None:
    for fields in OF_VERSION_0_1.values():
        named = ("legs", "congestion_control", "options")
        bare = {name: value for name, value in fields.items() if name not in named}
        legs = [{"downlink": {"rate_mbps": 20}}] * 2
        assert run_id(Scenario.check({**bare, "legs": legs}, "test")) not in OF_VERSION_0_1


@pytest.mark.parametrize("name", sorted({*campaign_names()} - {*NEWER}))
def test_a_shipped_campaign_names_what_has_had_another_default(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents: list[dict[str, Any]] = []
    checked = Planner._checked_once

    def noting(planner: Planner, document: dict[str, Any], where: str) -> Scenario:
        documents.append(document)
        return checked(planner, document, where)

    monkeypatch.setattr(Planner, "_checked_once", noting)
    path, overrides = find_campaign(name), Overrides(version="quick")
    file = read_file(path, overrides)
    planner = Planner(path, file, file.clock or "virtual", overrides)
    for experiment in planner.experiments():
        for _ in planner.cells(experiment):
            pass
    assert [each for each in documents if not _names_all(each)] == []


def _names_all(document: dict[str, Any]) -> bool:
    given = [document, *document.get("flows", ())]
    own = [each for each in given if "transport" in each]
    return (
        "congestion_control" in document
        and all(_names_buffer(each) for each in own)
        and all(_names_uplink(leg) for leg in document["legs"])
    )


def _names_buffer(part: dict[str, Any]) -> bool:
    known = get_runner(part["transport"]).options_type.model_fields
    named = "receive_buffer_bytes"
    return named not in known or named in part.get("options", {})


def _names_uplink(leg: dict[str, Any]) -> bool:
    down, up = leg["downlink"], leg.get("uplink", {})
    moved = {"delay_ms", "jitter_ms", "jitter", "reorder"} & down.keys()
    return bool(up) and moved <= up.keys() | ({"delay_ms"} if "delay_curve" in up else set())


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
