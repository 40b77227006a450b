"""Valid inputs that can be run, to be changed."""

from __future__ import annotations

from typing import Any

import yaml

from benchmarks.hostile.mutations import vocabulary
from minitopo_dc.installation import shipped

TRACE = str(shipped("traces") / "lte_a.csv")
TEXT = f"""
clock: virtual
seed: 3
timeout_s: 30.0
statistics_ms: 50
---
transport: quic
mode: dc
legs:
- downlink: {{rate_mbps: 20, delay_ms: 10, jitter_ms: 1, queue_packets: 100}}
- downlink: {{rate_mbps: 9, rlc: {{mode: am}}, outages: [[1, 2]]}}
  uplink: {{rate_mbps: 5, changes: [{{at_s: 5, rate_mbps: 2}}]}}
  outages: [[3, 5.5]]
pdcp: {{batch: 100, ratio: [1, 1], t_reordering_ms: 200, report_ms: 20}}
workload: {{size_mb: 1}}
options: {{max_data: 1000000, receive_buffer_bytes: 100000}}
virtual: {{processing_delay_ms: 1, cpu_us_per_packet: 1}}
---
transport: quic-picoquic
mode: dc
legs:
- downlink: {{trace: {TRACE}, end: loop, offset_s: 2.0, loss_percent: 0.1}}
- downlink: {{rate_mbps: 10, burst_loss: {{p: 0.01, r: 0.5, h: 0.1, k: 1}}}}
- downlink: {{rate_mbps: 4, queue_ms: 50, delay_curve: power}}
pdcp:
  legs: [1, 3]
  split: threshold
  parameters: {{threshold_bytes: 3200}}
  numbering: late
  buffer_packets: 500
  discard_timer_ms: 300
  report_ms: 20
  leg_failure_ms: 200
  data_recovery: true
  sn_bits: 12
  t_reordering_ms: adaptive
  legs_keep_order: false
  delivery: out-of-order
  duplication: {{packets: [handshake, ack], below_bytes: 300}}
split_uplink: true
uplink_pdcp: {{split: duplicate}}
workload: {{kind: request-response, interval_s: 0.2, count: 3, patience_s: 1.0}}
congestion_control: cubic
ip_version: 6
---
transport: quic
mode: dc-duplicate
legs:
- downlink:
    rate_mbps: 20
    queue_bytes: 60000
    rlc: {{mode: am, block_error_percent: 10.0, slot_ms: 1.0}}
- wifi: {{rate_mbps: 39, mpdu_error_percent: 5, load_percent: 20, hops: 2}}
  downlink: {{delay_ms: 2, jitter_ms: 0.5, jitter: uniform}}
  uplink: {{delay_ms: 2, changes: [{{at_s: 0.5, loss_percent: 1}}]}}
pdcp: {{numbering: late, t_reordering_ms: 100, sn_bits: 18}}
options: {{preset: bquic, ack_every: 2, max_datagram_bytes: 1280}}
virtual: {{udp_memory: linux-4.15, client_cpu_us_per_packet: 5.0, packet_trace: true}}
---
transport: mpquic-picoquic
mode: multipath
legs: [{{downlink: {{rate_mbps: 8}}}}, {{downlink: {{rate_mbps: 4, delay_ms: 30}}}}]
paths:
  initial: [1]
  schedule: [{{at_s: 0.2, open: 2}}, {{at_s: 1, abandon: 1}}, {{at_s: 2, open: 1}}]
  each_carries: false
workload: {{size_mb: 0.5}}
---
transport: mpquic-picoquic
mode: multipath
legs: [{{downlink: {{rate_mbps: 4}}}}, {{downlink: {{rate_mbps: 8}}, outages: [[0, 2], [4, 6]]}}]
handover:
  case: 2
  time_to_trigger_s: 1.0
  hysteresis: 0.1
  overlap_s: 0.02
  give_up_s: 5.0
  former: backup
  by: paths
---
transport: quic
mode: flows
legs: [{{downlink: {{rate_mbps: 20}}}}, {{downlink: {{rate_mbps: 10}}}}]
flows:
- {{mode: dc, pdcp: {{batch: 10, ratio: [9, 1]}}}}
- {{mode: sc, leg: 2, transport: quic-picoquic, congestion_control: bbr}}
pdcp: {{split: credit, flow_control: {{interval_ms: 5, backhaul_ms: 5}}}}
workload: {{duration_s: 1.0}}
"""
"""The fields that all scenarios have, and behind them those of one scenario each."""
_FIELDS, *_OWN = yaml.safe_load_all(TEXT)
SCENARIOS: tuple[dict[str, Any], ...] = tuple(_FIELDS | own for own in _OWN)
SCENARIO = SCENARIOS[0]
MINITOPO: tuple[tuple[str, str], ...] = (
    (
        "topoType:MultiIf\npath_c2r_0:10,10,4\npath_c2r_1:40,30,4\nleftSubnet:10.0.\n",
        "xpType:https\nfile:random\nfile_size:1024\ncongctrl:reno\ntimeout:30\n",
    ),
    (
        "topoType:DualConnectivity\npath_c2r_0:10,100,20,0.1\npath_c2r_1:10,20\njitter_c2r_0:1,normal\n"
        "uplink_c2r_1:20,100,5\noutages_c2r_1:1-2,4-6\nsplit:batch\nbatch:10\nratio:9,1\nsnBits:12\n"
        "tReordering:100\ndelivery:in-order\nsplitUplink:yes\nseed:7\nchangeNetem:yes\n"
        "netemAt_c2r_0:2,delay 20ms 1ms\nnetemAt_c2r_0:3,loss 1%\ndesc:a drive\n",
        "xpType:quic\nfile:random\nfile_size:50\ncongctrl:cubic\nclock:virtual\ntimeout:20\n",
    ),
    (
        f"topoType:MultiIf\npath_c2r_0:10,20,4\npath_c2r_1:10,20,8\noutages_c2r_1:0-2,4-6\n"
        f"pathAt_c2r_1:2,open\ntrace_c2r_0:{TRACE},loop\n",
        "xpType:mpquic-picoquic\nfile_size:100\nclock:virtual\n",
    ),
    (
        "topoType:DualConnectivity\npath_c2r_0:10,100,20\npath_c2r_1:10,100,10\n",
        "xpType:quic\nclock:virtual\nfile_size:20\nflow:dc\nflow:sc,1,quic\n",
    ),
    (
        "topoType:MultiIf\npath_c2r_0:10,10,4\nchangeNetem:no\n",
        "xpType:quicreqres\nquicReqresRunTime:2\nclock:virtual\n",
    ),
)
TOPOLOGY, EXPERIMENT = MINITOPO[0]
TRACES = (
    ("time_s,rate_mbps\n0,5\n1,7.5\n2,0\n3,\n", ""),
    ("0\n1\n1\n5\n9\n", ""),
    ("t_ms,dl_kbps,ul_kbps\n0,1000,5\n100,2000,5\n200,-,5\n", "dl_kbps:kbps"),
    (
        "Timestamp,DL_bitrate,UL_bitrate\n2018.01.01_10.00.00,100,5\n2018.01.01_10.00.01,-,5\n",
        "DL_bitrate",
    ),
    ("time_s,channel_1_mbps,channel_1_cell\n0,5,A/L/1\n1,7,A/L/1\n", "channel_1_mbps:mbps"),
    ('"time (s)";"DL (MB/s)";"cell"\n0;1,5;A\n1,5;2,25;A\n', "DL (MB/s)"),
    (
        '[{"duration_ms": 1500, "dl_kbps": 4300.5},\n{"duration_ms": 9, "dl_kbps": 0}]',
        "",
    ),
)
"""Each with its column; none: the only one."""
CAMPAIGN = '''"""Batches of two sizes."""

import minitopo_dc as dc

LEGS = [dc.Leg(rate_mbps=20), dc.Leg(rate_mbps=20)]
BASE = dc.Scenario(
    transport="quic", mode="dc", legs=LEGS, workload=dc.Download(size_mb=0.2), clock="virtual"
)


def cases(version):
    """Yield each batch size."""
    for batch in (2, 10, 100):
        yield BASE.evolve(pdcp={"batch": batch}), {"batch": batch}
'''
OPTIONS = (
    *("compare --legs 20 10 --delay 10 --jitter 1 --loss 1 --queue 100 --size 1 --seed 1",),
    *("compare --legs 20,9 --set legs.0.outages=[[3,5.5]] --jobs 2 --repetitions 2",),
    *("compare --split batch --set pdcp.batch=10 --set pdcp.ratio=[9,1] --set pdcp.sn_bits=18",),
    *("compare --split threshold --set pdcp.parameters.threshold_bytes=100 --set ip_version=6",),
    *("compare --workload request-response:count=5,interval_s=1 --transports quic",),
    *("trace synthesise OUT.csv --seconds 5 --mean 10 --sinr 8 --speed 10 --users 1 --seed 1",),
    *("trace synthesise-drive OUT.csv --seconds 5 --environment entire --seed 1 --noise 2",),
    *("trace convert TRACE.csv OUT.mahimahi --step 100",),
    *("trace info TRACE.csv",),
    *("campaign run CAMPAIGN.py --dry-run --only batch=2 --seeds 1 --jobs 2",),
)
KNOWN = vocabulary((*SCENARIOS, {"clock": ["real", "virtual"], "split": ["bandit"]}))
"""Values that are right, by the keys that have them in any of these."""
