"""Inputs that are right, to be changed."""

from __future__ import annotations

from typing import Any

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
CAMPAIGN: dict[str, Any] = {
    "title": "T",
    "clock": "virtual",
    "repetitions": 2,
    "base": {"mode": "dc", "legs": SCENARIO["legs"], "workload.size_mb": 0.1},
    "configurations": {"a": {"transport": "quic"}, "b": {"transport": "quic", "seed": 2}},
    "experiments": {
        "one": {"title": "O", "grid": {"pdcp.batch": [2, 9]}, "joint": [{"leg": [1, 2]}]},
        "two": {
            "title": "P",
            "base": {"legs.*.downlink.rate_mbps": "=rate"},
            "design": {"points": 4, "factors": {"label.rate": [1, 9, "log"]}},
        },
    },
}
TOPOLOGY = "topoType:MultiIf\npath_c2r_0:10,10,4\npath_c2r_1:40,30,4\nleftSubnet:10.0.\n"
EXPERIMENT = "xpType:https\nfile:random\nfile_size:1024\ncongctrl:reno\ntimeout:30\n"
TRACES = (
    "time_s,rate_mbps\n0,5\n1,7.5\n2,0\n3,\n",
    "0\n1\n1\n5\n9\n",
    "t_ms,dl_kbps,ul_kbps\n0,1000,5\n100,2000,5\n200,-,5\n",
    "Timestamp,DL_bitrate,UL_bitrate\n2018.01.01_10.00.00,100,5\n2018.01.01_10.00.01,-,5\n",
    "time_s,channel_1_mbps,channel_1_cell\n0,5,A/L/1\n1,7,A/L/1\n",
)
OPTIONS = (
    *("compare --legs 20 10 --delay 10 --jitter 1 --loss 1 --queue 100 --size 1 --seed 1",),
    *("compare --legs 20,9 --outage 1:3-5.5 --timeout 30 --jobs 2 --repetitions 2",),
    *("compare --split batch --batch 10 --ratio 9:1 --t-reordering 200 --sn-bits 18",),
    *("compare --split threshold --split-parameter x=1 --pdcp numbering=late",),
    *("compare --workload request-response:count=5,interval_s=1 --transports quic",),
    *("trace synthesise OUT.csv --seconds 5 --mean 10 --sinr 8 --speed 10 --users 1 --seed 1",),
    *("trace synthesise-drive OUT.csv --seconds 5 --environment entire --seed 1",),
    *("trace convert TRACE.csv OUT.mahimahi --step 100",),
    *("trace info TRACE.csv --column rate:mbps --time-column time:s",),
    *("campaign run CAMPAIGN.yaml --dry-run --repetitions 2 --size 1 --seed 1 --jobs 2",),
)
