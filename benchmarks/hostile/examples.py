"""Valid inputs that can be run, to be changed."""

from __future__ import annotations

from typing import Any

from benchmarks.hostile.mutations import vocabulary
from minitopo_dc.shipped import shipped

TRACE = str(shipped("traces") / "lte_a.csv")
SCENARIO: dict[str, Any] = {
    "transport": "quic",
    "mode": "dc",
    "legs": [
        {"downlink": {"rate_mbps": 20, "delay_ms": 10, "jitter_ms": 1, "queue_packets": 100}},
        {
            "downlink": {"rate_mbps": 9, "rlc": {"mode": "am"}, "outages": [[1, 2]]},
            "uplink": {"rate_mbps": 5, "changes": [{"at_s": 5, "rate_mbps": 2}]},
            "outages": [[3, 5.5]],
        },
    ],
    "pdcp": {"batch": 100, "ratio": [1, 1], "t_reordering_ms": 200, "report_ms": 20},
    "workload": {"size_mb": 1},
    "options": {"max_data": 1000000, "receive_buffer_bytes": 100000},
    "virtual": {"processing_delay_ms": 1, "cpu_us_per_packet": 1},
    "timeout_s": 60,
    "statistics_ms": 100,
    "seed": 1,
    "clock": "virtual",
}
COMMON_FIELDS = {"clock": "virtual", "seed": 3, "timeout_s": 30.0, "statistics_ms": 50}
SCENARIOS: tuple[dict[str, Any], ...] = (
    SCENARIO,
    {
        **COMMON_FIELDS,
        "transport": "quic-picoquic",
        "mode": "dc",
        "legs": [
            {"downlink": {"trace": TRACE, "end": "loop", "offset_s": 2.0, "loss_percent": 0.1}},
            {"downlink": {"rate_mbps": 10, "burst_loss": {"p": 0.01, "r": 0.5, "h": 0.1, "k": 1}}},
            {"downlink": {"rate_mbps": 4, "queue_ms": 50, "delay_curve": "power"}},
        ],
        "pdcp": {
            "legs": [1, 3],
            "split": "threshold",
            "parameters": {"threshold_bytes": 3200},
            "numbering": "late",
            "buffer_packets": 500,
            "discard_timer_ms": 300,
            "report_ms": 20,
            "leg_failure_ms": 200,
            "data_recovery": True,
            "sn_bits": 12,
            "t_reordering_ms": "adaptive",
            "legs_keep_order": False,
            "delivery": "out-of-order",
            "duplication": {"packets": ["handshake", "ack"], "below_bytes": 300},
        },
        "split_uplink": True,
        "uplink_pdcp": {"split": "duplicate"},
        "workload": {"kind": "request-response", "interval_s": 0.2, "count": 3, "patience_s": 1.0},
        "congestion_control": "cubic",
        "ip_version": 6,
    },
    {
        **COMMON_FIELDS,
        "transport": "quic",
        "mode": "dc-duplicate",
        "legs": [
            {
                "downlink": {
                    "rate_mbps": 20,
                    "queue_bytes": 60000,
                    "rlc": {"mode": "am", "block_error_percent": 10.0, "slot_ms": 1.0},
                }
            },
            {
                "wifi": {"rate_mbps": 39, "mpdu_error_percent": 5, "load_percent": 20, "hops": 2},
                "downlink": {"delay_ms": 2, "jitter_ms": 0.5, "jitter": "uniform"},
                "uplink": {"delay_ms": 2, "changes": [{"at_s": 0.5, "loss_percent": 1}]},
            },
        ],
        "pdcp": {"numbering": "late", "t_reordering_ms": 100, "sn_bits": 18},
        "options": {"preset": "bquic", "ack_every": 2, "max_datagram_bytes": 1280},
        "virtual": {
            "udp_memory": "linux-4.15",
            "client_cpu_us_per_packet": 5.0,
            "packet_trace": True,
        },
    },
    {
        **COMMON_FIELDS,
        "transport": "mpquic-picoquic",
        "mode": "multipath",
        "legs": [{"downlink": {"rate_mbps": 8}}, {"downlink": {"rate_mbps": 4, "delay_ms": 30}}],
        "paths": {
            "initial": [1],
            "schedule": [
                {"at_s": 0.2, "open": 2},
                {"at_s": 1, "abandon": 1},
                {"at_s": 2, "open": 1},
            ],
            "each_carries": False,
        },
        "workload": {"size_mb": 0.5},
    },
    {
        **COMMON_FIELDS,
        "transport": "mpquic-picoquic",
        "mode": "multipath",
        "legs": [
            {"downlink": {"rate_mbps": 4}},
            {"downlink": {"rate_mbps": 8}, "outages": [[0, 2], [4, 6]]},
        ],
        "handover": {
            "case": 2,
            "time_to_trigger_s": 1.0,
            "hysteresis": 0.1,
            "overlap_s": 0.02,
            "give_up_s": 5.0,
            "former": "backup",
            "by": "paths",
        },
    },
    {
        **COMMON_FIELDS,
        "transport": "quic",
        "mode": "flows",
        "legs": [{"downlink": {"rate_mbps": 20}}, {"downlink": {"rate_mbps": 10}}],
        "flows": [
            {"mode": "dc", "pdcp": {"batch": 10, "ratio": [9, 1]}},
            {"mode": "sc", "leg": 2, "transport": "quic-picoquic", "congestion_control": "bbr"},
        ],
        "pdcp": {"split": "credit", "flow_control": {"interval_ms": 5, "backhaul_ms": 5}},
        "workload": {"duration_s": 1.0},
    },
)
CAMPAIGN: dict[str, Any] = {
    "title": "T",
    "clock": "virtual",
    "repetitions": 2,
    "retries": 1,
    "parameters": {"size": 0.1, "rate": 9},
    "base": {"mode": "dc", "legs": SCENARIO["legs"], "workload.size_mb": "$size"},
    "quick": {"repetitions": 1, "fields": {"workload.size_mb": 0.05}, "configurations": ["a"]},
    "configurations": {"a": {"transport": "quic"}, "b": {"transport": "quic", "seed": 2}},
    "standard_configurations": ["a", "b"],
    "experiments": {
        "one": {
            "title": "O",
            "grid": {"pdcp.batch": [2, 9]},
            "joint": [{"leg": [1, 2], "label.which": ["x", "y"]}],
            "quick": {"pdcp.batch": [2]},
            "figure": {
                "kind": "bars",
                "x": "pdcp.batch",
                "curves": [{"configuration": "a", "measure": "goodput_mbps", "label": "A"}],
            },
        },
        "two": {
            "title": "P",
            "base": {"legs.*.downlink.rate_mbps": "=rate"},
            "configurations": ["b"],
            "repetitions": 1,
            "design": {"points": 4, "seed": 1, "factors": {"label.rate": [1, 9, "log"]}},
        },
        "three": {
            "title": "Q",
            "cells": [
                {"label.legs": "9", "legs.0.downlink.rate_mbps": "$rate"},
                {"label.legs": "up", "legs.1.uplink.delay_ms": 30, "pdcp.split": "least-delay"},
            ],
        },
    },
    "words": {"label.rate": "rate (Mbit/s)"},
    "notes": ["n"],
}
EXPRESSIONS: dict[str, Any] = {
    "title": "E",
    "clock": "virtual",
    "parameters": {"limit": "= mean(gain)"},
    "base": {
        "mode": "dc",
        "transport": "quic",
        "legs": [{"downlink": {"rate_mbps": 20}}, {"downlink": {"rate_mbps": 10}}],
        "legs.0.downlink.rate_mbps": "= round(total * part, 3)",
        "legs.1.downlink.rate_mbps": "= total - round(total * part, 3)",
        "legs.*.downlink.queue_packets": "= max(10, ceil(total * 1e6 / 8 / 1500 * 0.1))",
        "pdcp.ratio": "= [1, 1] if kind == 'equal' else [round(part, 2), 1 - round(part, 2)]",
        "pdcp.split": "= {'equal': 'batch', 'other': 'batch'}[kind]",
    },
    "configurations": {
        "dc": {},
        "leg-1": {"mode": "sc", "leg": 1},
        "leg-2": {"mode": "sc", "leg": 2},
    },
    "experiments": {
        "one": {
            "title": "O",
            "grid": {"label.total": [10, 30.5], "label.part": [0.5, 0.8]},
            "cells": [{"label.kind": "equal"}, {"label.kind": "other"}],
            "joined": {
                "best": "= max(leg_1.goodput_mbps, leg_2.goodput_mbps)",
                "gain": "= dc.goodput_mbps / best",
                "both": "= benefit(dc.goodput_mbps, [leg_1.goodput_mbps, leg_2.goodput_mbps])",
                "unlike": "= opposed(gain, dc.completion_s / leg_1.completion_s)",
                "large": "= gain if total > 20 and not part < 0.6 else nothing",
            },
            "claims": [
                {"text": "C", "value": "= share((gain > 1) * (both < 1))", "least": 0.5},
                {"text": "D", "value": "= quantile(gain, 0.9) - median(gain)", "most": 1},
                {"text": "F", "value": "$limit", "least": 0, "most": 2},
                {"text": "G", "value": "= sqrt(abs(sum(large))) ** 2 % 7 // 1", "most": 9},
            ],
            "explain": [{"measure": "gain", "at_least": 1.0, "text": "G", "limits": [0.9, 1.1]}],
        }
    },
}
HOSTILE_EXPRESSIONS = (
    *(
        "= 9**9**9",
        "= 10**10**10**10",
        "= (9**3000)**2",
        "= 2.0**99999",
        "= 1/0",
        "= 0*1e308*1e308",
    ),
    *(
        "= 'a'*999999999",
        "= [0]*999999999",
        "= str(9**3000)",
        "= round(7, -999999999)",
        "= -2**0.5",
    ),
    *(
        "= gain.tofile('x')",
        "= dc.__class__",
        "= rate.real",
        "= mean.__globals__",
        "= mean",
        "= dc",
    ),
    *("= __import__('os').system('id')", "= open('x', 'w')", "= [x for x in [1]]", "= lambda: 1"),
    *(
        "= gain",
        "= gain and gain",
        "= gain + dc",
        "= [gain]",
        "= max()",
        "= max([])",
        "= min(1, 'a')",
    ),
    *(
        "= mean('abc')",
        "= mean([[1]])",
        "= quantile(gain, 2)",
        "= quantile([], 0.5)",
        "= share(gain)",
    ),
    *(
        "= nothing",
        "= nothing in [nothing]",
        "= 0 < gain < 1",
        "= {1: 2}[3]",
        "= [1][9]",
        "= 'a' < 1",
    ),
    *(
        "= 1e400",
        "= 1e308 * 10",
        "= 1 if gain else 2",
        "= r\u0430te",
        "= \ud800",
        "= rate\0",
        "=",
        "= #",
    ),
    *("= " + "(" * 900 + "1" + ")" * 900, "= " + "-" * 1900 + "1", "= " + "2 ** " * 300 + "2"),
    *("= " + "1 + " * 600 + "1", "= " + "total" + ".a" * 300, "= int(1e400)", "= floor(0/1e-320)"),
    *("= log(-1)", "= sqrt(-1)", "= exp(9999)", "= 5 % 0", "= 5 // 0.0", "= int(nothing)"),
    *("= benefit(1, [1])", "= benefit(1, [nothing, 1])", "= opposed('a', 1)", "= benefit(1, 2)"),
)
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
    *("campaign run CAMPAIGN.yaml --dry-run --repetitions 2 --size 1 --seed 1 --jobs 2",),
)
KNOWN = vocabulary(
    (*SCENARIOS, CAMPAIGN, EXPRESSIONS, {"clock": ["real", "virtual"], "split": ["bandit"]})
)
"""Values that are right, by the keys that have them in any of these."""
