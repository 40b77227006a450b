"""What no scenario can have: one error, which names the field and what is allowed."""

from __future__ import annotations

from typing import Any

import pytest

from minitopo_dc.fields import SettingsError
from minitopo_dc.scenario import DuplicationSettings, Scenario

Fields = dict[str, Any]
LEG: Fields = {"downlink": {"rate_mbps": 20}}
RADIO: Fields = {"rate_mbps": 20}
FULL: Fields = {"kind": "full", "rate_mbps": 10}
BURSTS = {"p": 0.1, "r": 0.5}
BY_ORDER: Fields = {"legs_keep_order": True}
SUBSET: Fields = {"legs": [3, 1]}
SMALL: Fields = {"duplication": {"below_bytes": 300}}


def pdcp(**fields: Any) -> Fields:
    return {"pdcp": fields}


def up(**fields: Any) -> Fields:
    return {"split_uplink": True, "uplink_pdcp": fields}


def flow(**fields: Any) -> Fields:
    return {"mode": "flows", "flows": [{"mode": "sc"}, {"mode": "dc"} | fields]}


def leg(**fields: Any) -> Fields:
    return {"legs": [LEG, fields]}


def radio(**fields: Any) -> Fields:
    return leg(downlink=RADIO | fields)


def rlc(**fields: Any) -> Fields:
    return radio(rlc=fields)


def change(at_s: float = 1, **fields: Any) -> Fields:
    return {"changes": [{"at_s": at_s, **fields}]}


def wifi(**fields: Any) -> Fields:
    return leg(wifi=fields)


def cell(*background: Fields, **fields: Any) -> Fields:
    return {"cells": [{"legs": [1], "background": background, **fields}]}


def control(**fields: Any) -> Fields:
    return pdcp(flow_control=fields)


def multipath(**fields: Any) -> Fields:
    return {"transport": "mptcp", "mode": "multipath"} | fields


def handover(**rule: Any) -> Fields:
    return multipath(handover={"case": 1} | rule)


def paths(*changes: Fields, **fields: Any) -> Fields:
    return multipath(legs=[LEG] * 2, paths={"schedule": changes, **fields})


def mobility(**event: Any) -> Fields:
    return {"mobility": [{"at_s": 1, **event}]}


OF_MODES_AND_WHOLE_SCENARIOS = [
    ({"mode": "mptcp"}, "mode: .*'sc', 'dc', 'dc-duplicate', 'atsss', 'multipath' or 'flows'"),
    ({"legs": []}, "legs"),
    ({"legs": [LEG]}, "mode dc needs at least two legs"),
    ({"mode": "flows"}, "mode flows needs a list of flows"),
    (flow() | {"mobility": [{"at_s": 1, "scg_failure": 2}]}, "mobility: mode flows has none"),
    ({"leg": 5}, "leg: 5 does not exist; allowed: 1 to 4"),
    ({"workload": {"size_mb": 0}}, "size_mb"),
    ({"timeout_s": 1e9}, "timeout_s: .*; allowed: .* to 86,400"),
    ({"workload": {"duration_s": 86_401}}, "duration_s: .*; allowed: .* to 86,400"),
    ({"workload": {"duration_s": 0}}, "duration_s: .*allowed: 1e-06 to 86,400 s"),
    ({"speed": 1}, "speed: unknown field; .*known: transport, mode"),
    ({"trace_offset_s": 1}, "trace_offset_s: no leg has a trace"),
    ({"server_delay_ms": 5, "real": {"backhaul": [LEG]}, "mode": "atsss"}, r"real\.backhaul is"),
]
OF_BEARERS = [
    (pdcp(legs=[1]), "pdcp.legs: 1; name at least two legs, each once"),
    (pdcp(legs=[2, 2]), "pdcp.legs: 2, 2; name at least two legs, each once"),
    (pdcp(legs=[1, 5]), "pdcp.legs: leg 5 does not exist; allowed: 1 to 4"),
    (pdcp(legs=[0, 1]), "pdcp.legs.0: .*allowed: 1 to 1,000,000"),
    (pdcp(**SUBSET, ratio=[1, 1, 1]), "pdcp: .*must be a list of 2 numbers"),
    (pdcp(**SUBSET, flow_control={"backhaul_ms": [1, 1, 1]}), "_ms: 3 values, .* each of 2 legs"),
    (pdcp(split="best"), "batch, .*duplicate"),
    (pdcp(split="duplicate"), "mode dc: pdcp.split duplicate is mode dc-duplicate"),
    (flow() | pdcp(split="duplicate"), "flows.1.mode dc: pdcp.split duplicate is mode"),
    ({"uplink_pdcp": {}}, "uplink_pdcp: needs split_uplink: true of the scenario"),
    (up(legs=[1, 6]), "uplink_pdcp.legs: leg 6 does not exist; allowed: 1 to 4"),
    (up(**SMALL) | {"mode": "dc-duplicate"}, "uplink_pdcp: duplication: split dup"),
    (up(split="best"), "uplink_pdcp: no split policy 'best'"),
    (up(ratio=[1, 1, 1]) | pdcp(**SUBSET), "uplink_pdcp: .*must be a list of 2 numbers"),
    (flow(mode="sc", pdcp={"flow_control": {"backhaul_ms": [1, 1]}}), "2 values, .* of 1 legs"),
    (flow(pdcp={"legs": [1, 5]}), "flows.1.pdcp.legs: leg 5 does not exist; allowed: 1 to 4"),
    (flow(pdcp={"split": "best"}), "flows.1.pdcp: no split policy 'best'"),
    (flow(pdcp={"split": "duplicate"}), "flows.1.mode dc: pdcp.split duplicate is mode dc-dup"),
    (flow(uplink_pdcp={}), "flows.1.uplink_pdcp: needs split_uplink: true of the scenario"),
    (flow(mode="multipath", transport="mptcp", pdcp={}), "flows.1.pdcp: .* has no bearer"),
    (pdcp(**SMALL) | {"mode": "dc-duplicate"}, "^test: mode dc-duplicate: pdcp.duplication has no"),
    (flow(mode="dc-duplicate") | pdcp(**SMALL), "flows.1.mode dc-duplicate: pdcp.duplication has"),
    (pdcp(**SMALL, split="duplicate"), "split duplicate puts every packet on all legs already"),
    (pdcp(echo_ms=20), "echo_ms: split batch makes no use of echoes"),
    (pdcp(numbering="never"), "pdcp.numbering: never; allowed: 'early' or 'late'"),
    (pdcp(buffer_packets=5), "pdcp: buffer_packets: needs numbering: late"),
    (pdcp(numbering="late", buffer_packets=0), "pdcp.buffer_packets: .*allowed: 1 to"),
    (pdcp(discard_timer_ms=100), "discard_timer_ms: needs numbering: late, flow_control or data"),
    (pdcp(numbering="late", discard_timer_ms=55), "55.0 ms: must be one of 10, 20, .*, infinity"),
    (pdcp(leg_failure_ms=10), r"pdcp: leg_failure_ms: 10; allowed: report_ms \(20\) or more"),
    (pdcp(leg_failure_ms=0.1, report_ms=20), "pdcp.leg_failure_ms: .*allowed: 1 to"),
    (control(interval_ms=0.1), "flow_control.interval_ms: .*allowed: 1 to"),
    (control(backhaul_ms=-1), "flow_control.backhaul_ms.*allowed: 0 to"),
    (control(backhaul_ms=[1]), "flow_control.backhaul_ms: 1 values, must be one"),
    (control(desired_ms=[1, 2, 3]), "flow_control.desired_ms: 3 values, must be one"),
    (control(desired_ms=0), "flow_control.desired_ms: .*allowed: above 0"),
    (pdcp(data_recovery=True, delivery="off"), "data_recovery: delivery off"),
    (pdcp(t_reordering_ms="adapts"), "t_reordering_ms.*'infinity' or 'adaptive'"),
]
REORDERS = radio(reorder=True)
OF_LEGS = [
    (radio(trace="x"), "exactly one of"),
    (radio(outages=[[2, 1]]), r"downlink: outages: \[2, 1\] ends before it begins"),
    (radio(loss_percent=101), "loss_percent"),
    (leg(**LEG, outages=[[2, 1]]), r"legs.1: outages: \[2, 1\] ends before it begins"),
    (leg(**LEG, outages=[[5, 6], [1, 2]]), r"legs.1: outages: \[1, 2\] must begin after \[5, 6\]"),
    (
        leg(outages=[[3, 4]], downlink=RADIO | {"outages": [[1, 3.5]]}),
        r"legs.1: outages and downlink.outages: \[3, 4\] must begin after \[1, 3.5\] has ended",
    ),
    (
        leg(**LEG, outages=[[3, 4]], uplink=RADIO | {"outages": [[4, 5]]}),
        r"legs.1: outages and uplink.outages: \[4, 5\] must begin after \[3, 4\] has ended",
    ),
    (REORDERS | pdcp(**BY_ORDER), r"pdcp.legs_keep_order: legs.1.downlink .*reorder: true"),
    (rlc(in_order=False) | pdcp(**BY_ORDER), r"pdcp.legs_keep_order: legs.1.downlink .*in_order"),
    (
        leg(**LEG, uplink=RADIO | {"reorder": True}) | pdcp(**BY_ORDER) | {"split_uplink": True},
        r"legs_keep_order: legs.1.uplink",
    ),
    (REORDERS | flow(mode="sc", leg=2) | pdcp(**BY_ORDER), r"legs_keep_order: legs.1.downlink"),
    (radio(**change()), "name at least one of rate_mbps, delay_ms"),
    (radio(**change(-1, delay_ms=1)), "changes.0.at_s"),
    (radio(changes=[{"at_s": 1, "delay_ms": d} for d in (1, 2)]), "must be after 1"),
    (radio(**change(rate_mbps=-1)), "changes.0.rate_mbps"),
    (radio(**change(loss_percent=101)), "changes.0.loss_percent"),
    (radio(**change(queue=3)), "changes.0.queue"),
    (leg(downlink={"trace": "t"} | change(rate_mbps=1)), "rate_mbps needs rate_mbps, not trace"),
    (radio(burst_loss=BURSTS, **change(loss_percent=1)), "needs no burst_loss"),
    (radio(**change(block_error_percent=1)), "block_error_percent needs rlc"),
    (radio(rlc={}, **change(block_error_percent=101)), "block_error_percent"),
    (radio(jitter="uniform", jitter_ms=5, **change(delay_ms=4)), "jitter may be at most delay"),
    (radio(queue_discipline="codex"), "no queue discipline 'codex'"),
    (radio(queue_parameters={"target_ms": 1}), "'drop-tail': .*its parameters: none"),
    (radio(queue_discipline="dualpi2", rlc={}), "reorders packets, which RLC"),
    (radio(queue_ms=5, queue_bytes=1000), "queue_ms: needs rate_mbps or trace_mean_mbps, and no"),
    (leg(downlink={"trace": "t", "queue_ms": 5}), "queue_ms: needs rate_mbps or trace_mean_mbps"),
    (radio(trace_mean_mbps=5), "trace_mean_mbps: needs a trace"),
    (radio(offset_s=5), "offset_s: only a trace has one"),
    (radio(loss_percent=1, burst_loss=BURSTS), "give loss_percent or burst_loss, not both"),
    (radio(delay_curve="power", delay_trace="d"), "give delay_curve or delay_trace, not both"),
    (radio(delay_curve="power", jitter="uniform"), "uniform needs delay_ms; with delay_curve"),
    (radio(mtu_icmp=True), "mtu_icmp: needs mtu_bytes"),
    (rlc(mode="tm"), "rlc.mode: .*'am' or 'um'"),
    (rlc(block_error_percent=101), "rlc.block_error_percent"),
    (rlc(slot_ms=2), "rlc.slot_ms: must be one of 1, 0.5, 0.25, 0.125, 0.0625"),
    (rlc(harq_rtt_ms=0), "rlc.harq_rtt_ms"),
    (rlc(harq_rtt_ms=0.5), "rlc: harq_rtt_ms 0.5: at least slot_ms 1"),
    (rlc(harq_retransmissions=28), "rlc.harq_retransmissions"),
    (rlc(status_ms=-1), "rlc.status_ms"),
    (rlc(max_retx_threshold=5), "rlc.max_retx_threshold: .*1, 2, 3, 4, 6, 8, 16 or 32"),
    (
        rlc(discard_ms=25),
        "rlc.discard_ms: discardTimer 25 ms: must be one of 10, 20, .*1500, infinity",
    ),
    (rlc(t_reassembly_ms=35), "rlc.t_reassembly_ms: unknown field"),
]
OF_WIFI = [
    (leg(wifi={}, downlink=RADIO), "downlink: rate_mbps: the leg has wifi"),
    (leg(wifi={}, uplink={"trace": "x.csv"}), "uplink: trace: the leg has wifi"),
    (leg(wifi={}, downlink={"rlc": {}}), "downlink: rlc: the leg has wifi"),
    (leg(wifi={}, downlink={"delay_curve": "power"}), "downlink: delay_curve: the leg has wifi"),
    (leg(wifi={}, downlink={"queue_ms": 50}), "downlink: queue_ms: the leg has wifi"),
    (leg(wifi={}, uplink={"queue_discipline": "pie"}), "queue_discipline: the leg has wifi"),
    (leg(wifi={}, uplink=change(rate_mbps=2)), "a change of rate_mbps needs rate_mbps, not wifi"),
    (leg(wifi={}, uplink=change(block_error_percent=2)), "a change of block_error_percent needs"),
    (leg(wifi={}, downlink={"wifi": {}}), "downlink.wifi: both directions share it; write it"),
    (leg(downlink=RADIO | {"wifi": {}}), "downlink.wifi: both directions share it; write it"),
    (leg(wifi={}, downlink=5), "downlink"),
    (wifi(hops=0), "hops: 0; allowed: 1 to 16"),
    (wifi(hops=17), "hops: 17; allowed: 1 to 16"),
    (wifi(hops=[{}] * 17), "wifi.hops"),
    (wifi(hops="three"), "wifi.hops"),
    (wifi(hops=[{"rate": 6}]), "wifi.hops.*unknown field"),
    (wifi(hops=[{"hops": 2}]), "wifi.hops.*unknown field"),
    (wifi(wired={"rate_mbps": 100}), "wifi.wired.delay_ms"),
    (wifi(wired={"rate_mbps": 0, "delay_ms": 1}), "wifi.wired.rate_mbps"),
    (wifi(error_bursts={"p": 2, "r": 0.1}), "wifi.error_bursts.p"),
]
TWO_CELLS = {"cells": [{"legs": [1]}, {"legs": [2, 1]}]}
OF_CELLS = [
    (cell(legs=[5]), "cells.0.legs: leg 5 does not exist; allowed: 1 to 4"),
    (TWO_CELLS, "cells.1.legs: leg 1 is in a cell already; allowed: once"),
    (cell(scheduler="rr"), "no cell scheduler 'rr' .known: round-robin, priority"),
    (cell(parameters={"window": 1}), "unexpected keyword.*its parameters: averaging_ms"),
    (cell(slot_ms=2), "slot_ms: must be one of 1, 0.5, 0.25, 0.125, 0.0625"),
    (cell(priorities=[1, 2]), "priorities: 2 for 1 legs; allowed: one each"),
    (cell({"kind": "on-off", "rate_mbps": 1, "on_s": 1}), "kind on-off: needs off_s"),
    (cell(FULL | {"on_s": 1}), "on_s: only kind on-off has it, not full"),
    (cell(FULL | {"times_s": [[2, 1]]}), r"times_s: \[2, 1\] ends before it begins"),
    (cell(FULL | {"users": 0}), "users: 0; allowed: 1 to 1,000"),
    (cell(FULL | {"kind": "bursty"}), "kind: .*'full', 'on-off', 'poisson' or 'trace'"),
    (rlc(slot_ms=0.5) | cell(legs=[2]), "rlc.slot_ms 0.5; allowed: the cell's slot_ms, 1"),
    (cell() | multipath(handover={"case": "sp"}), "cells: handover.case: sp makes one leg of all"),
    (wifi() | cell(legs=[2]), "leg 2 has wifi; allowed: rate_mbps or trace"),
]
OF_PATHS = [
    (paths(initial=[]), "paths: initial: name at least one leg"),
    (paths(initial=[1, 2, 1]), "initial: 1, 2, 1; name each leg once"),
    (paths(initial=[3]), "initial: leg 3 does not exist; allowed: 1 to 2"),
    (paths(initial=[0]), "initial.0: 0; allowed: 1 to"),
    (paths({"at_s": 1, "abandon": 2}, {"at_s": 0.5, "open": 2}), "at_s 0.5 must not be before 1"),
    (paths({"at_s": 1}), "schedule.0: give exactly one of open, abandon, backup, available, with"),
    (paths({"at_s": 1, "open": 1, "backup": 2}), "schedule.0: give exactly one of open, abandon"),
    (paths({"at_s": 1, "abandon": 4}), "schedule.0.abandon: leg 4 does not exist; allowed: 1 to 2"),
    (paths({"at_s": 1, "open": 2}), "schedule.0.open: 2: its path is open; at 1 s open: 1, 2"),
    (paths({"at_s": 1, "abandon": 2}, initial=[1]), "2: no path to abandon; at 1 s open: 1"),
    (paths({"at_s": 1, "backup": 2}, initial=[1]), "2: no path to make a backup; at 1 s open: 1"),
    (paths({"at_s": 1, "available": 2}), "2: its path is available already; at 1 s open: 1, 2"),
    (
        paths({"at_s": 2.5, "abandon": 1}, {"at_s": 2.5, "open": 2}, initial=[1]),
        r"the last path cannot be abandoned; open another one before it \(at 2.5 s open: 1\)",
    ),
    ({"mode": "sc", "paths": {"initial": [1]}}, "mode sc has one path; allowed: attempt_delay_ms"),
    *(
        ({"mode": mode, "paths": {}}, f"paths: mode {mode} has no paths; allowed: multipath")
        for mode in ("dc", "dc-duplicate")
    ),
    (flow(mode="multipath") | {"paths": {}}, "paths: mode flows has no paths"),
    (flow(mode="multipath", paths={"initial": [5]}), "flows.1.paths.initial: leg 5 does not ex"),
    (handover(case=5), "handover.case: 5 legs at once; allowed: sp, or 1 to 4"),
    (handover(case=0), "handover.case"),
    (handover(overlap_s=2), "handover.overlap_s: .*; allowed: "),
    (handover() | {"paths": {"initial": [1]}}, "paths: the handover rule makes"),
    (handover(by="legs", former="backup"), "handover.former: backup needs by: paths"),
    (handover(unused_legs="down", former="backup"), "former: backup needs unused_legs: up"),
    (handover() | {"mode": "sc"}, "mode sc uses one leg"),
    (handover(case="sp") | {"mode": "dc"}, "sp has one leg; allowed: modes multipath and sc with"),
    (handover(by="paths") | {"mode": "dc"}, "handover.by: paths needs mode multipath"),
    (mobility(), "name exactly one of pscell_change, scg_failure, mcg_failure, scg_addition"),
    (mobility(pscell_change=2, scg_failure=2), "name exactly one of"),
    (mobility(pscell_change=5), "leg 5 does not exist; allowed: 2 to 4"),
    (mobility(scg_failure=1), "scg_failure: leg 1; allowed: all but 1, the MCG's"),
    (mobility(mcg_failure=2), "mcg_failure: leg 2; allowed: 1, the MCG's"),
    (mobility(scg_addition=2, detection_ms=1), "scg_addition is no failure"),
]


@pytest.mark.parametrize(
    ("fields", "words"),
    [*(*OF_MODES_AND_WHOLE_SCENARIOS, *OF_BEARERS, *OF_LEGS), *(*OF_WIFI, *OF_CELLS, *OF_PATHS)],
)
def test_what_cannot_be_is_one_error_that_names_the_field(fields: Fields, words: str) -> None:
    with pytest.raises(SettingsError, match=words) as caught:
        Scenario.check({"transport": "quic", "mode": "dc", "legs": [LEG] * 4} | fields, "test")
    assert str(caught.value).startswith("test: ")
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ({}, "give at least one of packets, below_bytes, dscp, retransmissions, loss_percent, "),
        ({"packets": ["acks"]}, "packets.0: .*'handshake' or 'ack'"),
        ({"packets": ["handshake"], "small_bytes": 80}, r"small_bytes needs packets: \[ack\]"),
        ({"dscp": [64]}, "dscp.0: .*; allowed: .*63"),
        ({"below_bytes": 0}, "below_bytes: .*allowed: 1 to"),
        ({"loss_percent": 101}, "loss_percent: .*; allowed: .*100"),
        ({"deadline_ms": 0}, "deadline_ms: .*; allowed: above 0"),
        ({"deadline": 1}, "deadline: unknown field"),
    ],
)
def test_a_wrong_condition_of_duplication_is_named(condition: Fields, words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        DuplicationSettings.check(condition, "test")
