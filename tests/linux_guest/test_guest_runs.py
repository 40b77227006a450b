"""TCP and MPTCP on the virtual clock, and what uses them: the kernel in a guest over legs."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from minitopo_dc import linux_guest
from minitopo_dc.clocks import run_obstacle, run_scenario
from minitopo_dc.fields import SettingsError
from minitopo_dc.linux_guest import guest
from minitopo_dc.results.measures.delays import packet_delays
from minitopo_dc.results.run_result import RunResult
from tests.linux_guest.guests import DIRECTION, LEG, multipath, needs_guest, run, scenario
from tests.studies.digests import module

pytestmark = needs_guest
TRACED = {"packet_trace": True}


def test_a_download_over_tcp_tells_what_the_real_clock_does(tmp_path: Path) -> None:
    wanted = scenario(congestion_control="reno", options={"tcp_info": True})
    details = run(wanted, tmp_path).details
    # A round trip of 20 ms each for TCP, for TLS 1.3 and for the request.
    times = [details[name] for name in ("connect_s", "handshake_s", "first_byte_s")]
    assert times == pytest.approx([0.02, 0.0415, 0.0635], abs=0.0005)
    assert details["completion_s"] == pytest.approx(0.2, abs=0.05)
    assert (details["multipath"], details["congestion_control"]) == (False, "reno")
    [connection] = details["subflows"]
    framed = -(-300_000 // 16_384) * 53 + 716 + 717
    assert connection["bytes_acked"] == 300_000 + framed
    assert connection["remote_port"] == 50_000
    environment = json.loads((tmp_path / "environment.json").read_text())
    assert environment["linux_guest"]["kernel"].startswith("6.12.")
    info = rows(tmp_path / "tcp-info.csv")
    assert len(info) > 15
    assert {row["client_port"] for row in info} == {"50000"}
    last = rows(tmp_path / "connections.csv")[-1]
    assert int(last["cwnd_bytes"]) > 14_000


def test_captures_and_samples_of_a_guest_make_the_log_of_a_connection(tmp_path: Path) -> None:
    virtual = {"capture": ["client", "server"]}
    kept = tmp_path / "run"
    run_scenario(scenario(options={"tcp_info": True}, virtual=virtual), kept)
    log = module("mesh", "connection").connection_log(kept)
    framed = -(-300_000 // 16_384) * 53 + 716
    assert log.packets["bytes"].sum() == 300_000 + framed
    delays = log.packets["received_s"] - log.packets["sent_s"]
    assert delays.min() == pytest.approx(0.01, abs=0.001)
    assert log.windows["time_s"].is_monotonic_increasing
    assert log.least_rtt_s == pytest.approx(0.02, abs=0.002)
    assert 0 < log.acknowledgements <= len(log.packets)


def test_a_server_s_segments_are_no_larger_than_asked_for(tmp_path: Path) -> None:
    run(scenario(options={"mss_bytes": 1280}, virtual=TRACED), tmp_path)
    sizes = {int(row["bytes"]) for row in rows(tmp_path / "packets.csv")}
    assert max(sizes) == 20 + 20 + 1280


def test_segments_behind_a_lost_one_wait_in_the_receive_buffer(tmp_path: Path) -> None:
    lossy = [{"downlink": {**DIRECTION, "loss_percent": 1}, "uplink": DIRECTION}]
    virtual = {"packet_delays": True, "capture": ["client"]}
    run(scenario(lossy, virtual=virtual, workload={"size_mb": 1}), tmp_path)
    down = packet_delays(tmp_path).query("direction == 'downlink'")
    waits = down["receive_buffer_ms"].dropna()
    assert (waits >= 0).all()
    # The retransmission comes a round trip later at the earliest, and waits for nothing itself.
    assert waits.max() > 20
    assert (waits == 0).any()
    uplink = packet_delays(tmp_path).query("direction == 'uplink'")
    assert uplink["receive_buffer_ms"].isna().all()


DCTCP = {"net.ipv4.tcp_ecn": "1", "net.ipv4.tcp_congestion_control": "dctcp"}


def test_dctcp_keeps_a_queue_that_marks_short_without_losses(tmp_path: Path) -> None:
    marking = {"queue_discipline": "step", "queue_parameters": {"threshold_ms": 5}}
    legs = [{"downlink": {**DIRECTION, **marking}, "uplink": DIRECTION}]
    fields = {"congestion_control": "dctcp", "options": {"tcp_info": True}}
    wanted = scenario(legs, virtual={"sysctl": DCTCP}, workload={"size_mb": 4}, **fields)
    result = run(wanted, tmp_path)
    assert result.details["congestion_control"] == "dctcp"
    assert (result.goodput_mbps or 0) > 15
    summary = json.loads((tmp_path / "gnb-summary.json").read_text())
    assert summary["legs"]["1"]["marked_packets"] > 10
    info = rows(tmp_path / "tcp-info.csv")
    assert int(info[-1]["retransmissions"]) == 0
    assert float(info[-1]["smoothed_rtt_ms"]) < 20 + 3 * 5


@pytest.mark.parametrize("lacking", DCTCP)
def test_dctcp_without_a_setting_of_both_ends_is_refused(lacking: str, tmp_path: Path) -> None:
    sysctl = {name: value for name, value in DCTCP.items() if name != lacking}
    wanted = scenario(congestion_control="dctcp", virtual={"sysctl": sysctl})
    with pytest.raises(SettingsError, match=r"dctcp .*virtual: \{sysctl: \{net"):
        run_scenario(wanted, tmp_path)


def test_tls_1_2_takes_a_round_trip_more_whatever_the_congestion_control(tmp_path: Path) -> None:
    fields: dict[str, Any] = {"options": {"tls": "1.2"}, "congestion_control": "bbr"}
    result = run(scenario(workload={"size_mb": 0.05}, **fields), tmp_path)
    assert result.details["congestion_control"] == "bbr"
    assert result.details["handshake_s"] == pytest.approx(0.063, abs=0.001)


def test_a_bearer_splits_the_kernel_s_packets(tmp_path: Path) -> None:
    mode = {"mode": "dc", "pdcp": {"batch": 10, "ratio": [1, 1]}}
    legs = legs_of(run(scenario(2, ip_version=6, **mode), tmp_path))
    assert min(legs) > 0.9 * max(legs)


def test_mptcp_has_a_subflow_on_each_of_three_legs(tmp_path: Path) -> None:
    result = run(multipath(3, ip_version=6), tmp_path)
    paths = result.details["paths"]
    assert {path["leg"] for path in paths} == {1, 2, 3}
    assert all(path["bytes_sent"] > 50_000 for path in paths)
    assert min(legs_of(result)) > 50_000
    series = rows(tmp_path / "paths.csv")
    assert {row["leg"] for row in series} == {"1", "2", "3"}
    assert {row["state"] for row in series} == {"open"}


def test_paths_open_close_and_become_backups_when_a_schedule_says_so(tmp_path: Path) -> None:
    schedule = [
        *({"at_s": 0.3, "open": 2}, {"at_s": 0.6, "abandon": 1}),
        *({"at_s": 0.9, "open": 1}, {"at_s": 1.2, "backup": 2}),
    ]
    paths = {"initial": [1], "schedule": schedule}
    options = {"scheduler": "default"}
    result = run(multipath(paths=paths, options=options, workload={"size_mb": 4}), tmp_path)
    done = [(each["action"], each["leg"]) for each in result.details["path_changes"]]
    assert done == [("open", 2), ("abandon", 1), ("open", 1), ("backup", 2)]
    moments = [each["done_s"] for each in result.details["path_changes"]]
    assert moments == pytest.approx([0.3, 0.6, 0.9, 1.2], abs=1e-5)
    first, second, third = result.details["paths"]
    assert (first["leg"], second["leg"], third["leg"]) == (1, 2, 1)
    assert first["closed_s"] == pytest.approx(0.6, abs=0.11)
    assert third["opened_s"] > 0.9
    assert "backup" in {row["state"] for row in rows(tmp_path / "paths.csv")}


@pytest.mark.long
def test_a_video_over_tcp_is_watched(tmp_path: Path) -> None:
    details = run(scenario(workload={"kind": "video", "duration_s": 12}), tmp_path).details
    assert (details["segments"], details["stalls"]) == (4, 0)
    assert details["handshake_s"] == pytest.approx(0.042, abs=0.002)
    assert 0.06 < details["startup_s"] < 0.5
    assert details["congestion_control"] == "cubic"
    assert details["started_s"] < 0.01


def test_a_call_over_mptcp_takes_both_paths_as_they_are_scheduled(tmp_path: Path) -> None:
    workload = {"kind": "realtime", "delivery": "stream", "duration_s": 2}
    paths = {"initial": [1], "schedule": [{"at_s": 0.5, "open": 2}, {"at_s": 1.0, "abandon": 1}]}
    result = run(multipath(workload=workload, paths=paths), tmp_path)
    done = [(each["action"], each["leg"]) for each in result.details["path_changes"]]
    assert done == [("open", 2), ("abandon", 1)]
    assert [path["leg"] for path in result.details["paths"]] == [1, 2]
    assert min(legs_of(result)) > 10_000
    assert {row["leg"] for row in rows(tmp_path / "paths.csv")} == {"1", "2"}
    assert (tmp_path / "realtime.csv").exists()


def test_a_download_for_a_time_ends_then(tmp_path: Path) -> None:
    result = run(scenario(workload={"duration_s": 0.5}), tmp_path)
    assert result.completion_s == pytest.approx(0.5, abs=1e-5)
    assert result.details["bytes"] > 500_000


@pytest.mark.parametrize("saves", [True, False])
def test_the_kernel_keeps_the_threshold_of_an_earlier_download(
    tmp_path: Path, *, saves: bool
) -> None:
    short = {"downlink": {**DIRECTION, "queue_packets": 20}, "uplink": DIRECTION}
    setting = {"net.ipv4.tcp_no_ssthresh_metrics_save": "0" if saves else "1"}
    wanted = scenario(
        [short],
        congestion_control="reno",
        options={"tcp_info": True},
        workload={"size_mb": 1.5},
        virtual={"sysctl": setting, "earlier_downloads": 1},
    )
    result = run(wanted, tmp_path)
    assert result.details["bytes"] == 1_500_000
    assert result.details["started_s"] > 1.6  # 0.6 s at 20 Mbit/s, and a second
    assert result.details["connect_s"] == pytest.approx(0.02, abs=0.005)
    info = rows(tmp_path / "tcp-info.csv")
    assert bool(info[0]["ssthresh_bytes"]) is saves
    assert (int(info[-1]["retransmissions"]) == 0) is saves


@pytest.mark.parametrize(
    ("fields", "allowed"),
    [
        ({"transport": "quic"}, "one flow of transport tcp"),
        ({"workload": {"duration_s": 1}}, "workload download with size_mb"),
        ({"legs": [{**LEG, "outages": [[1, 2]]}]}, "legs without changes and outages"),
    ],
)
def test_earlier_downloads_are_refused_where_they_would_not_be_the_same(
    fields: dict[str, Any], allowed: str
) -> None:
    legs = fields.pop("legs", 1)
    wanted = scenario(legs, virtual={"earlier_downloads": 1}, **fields)
    with pytest.raises(SettingsError, match=f"earlier_downloads: allowed: {allowed}"):
        run_scenario(wanted, Path("nowhere"))


def test_flows_of_the_kernel_and_of_quic_share_legs(tmp_path: Path) -> None:
    flows = [
        {"mode": "dc"},
        {"mode": "sc", "leg": 1, "transport": "quic"},
        {"mode": "multipath", "transport": "mptcp"},
    ]
    wanted = scenario(2, mode="flows", flows=flows, pdcp={"batch": 10, "ratio": [1, 1]})
    result = run(wanted, tmp_path)
    assert sum(legs_of(result)) > 900_000
    assert {row["flow"] for row in rows(tmp_path / "paths.csv")} == {"3"}


def test_a_packet_s_cpu_time_limits_the_rate(tmp_path: Path) -> None:
    fast = run(scenario(), tmp_path / "fast").completion_s
    slow = run(scenario(virtual={"cpu_us_per_packet": 1500}), tmp_path / "slow").completion_s
    assert fast is not None
    assert slow is not None
    assert slow > 1.5 * fast


def test_a_transfer_that_is_not_done_in_time_says_how_far_it_came(tmp_path: Path) -> None:
    result = run_scenario(scenario(timeout_s=0.1), tmp_path)
    assert (result.status, result.reason) == (
        "failed",
        "did not finish within 0.1 s: client has not ended (in its answer)",
    )


@pytest.mark.parametrize(("probing", "status"), [("0", "failed"), ("1", "ok")])
def test_tcp_finds_the_mtu_of_a_black_hole_if_it_probes(
    tmp_path: Path, probing: str, status: str
) -> None:
    """RFC 4821, which the kernel follows with `tcp_mtu_probing`."""
    hole = {"downlink": {"rate_mbps": 20, "mtu_bytes": 1400}}
    sysctl = {"sysctl": {"net.ipv4.tcp_mtu_probing": probing}}
    wanted = scenario([hole], virtual=sysctl | TRACED, timeout_s=8)
    assert run_scenario(wanted, tmp_path).status == status
    trace = [row for row in rows(tmp_path / "packets.csv") if row["direction"] == "downlink"]
    received = [int(row["bytes"]) for row in trace if row["event"] == "received"]
    assert max(int(row["bytes"]) for row in trace) == 1500
    assert 60 < max(received) <= 1400


@pytest.mark.parametrize(("mode", "room", "version"), [("sc", 0, 6), ("dc", 3, 4)])
def test_tcp_heeds_the_icmp_of_a_smaller_mtu(
    tmp_path: Path, mode: str, room: int, version: int
) -> None:
    narrow = {"downlink": {"rate_mbps": 20, "mtu_bytes": 1400, "mtu_icmp": True}}
    wanted = scenario([narrow] * 2, mode=mode, virtual=TRACED, timeout_s=8, ip_version=version)
    result = run_scenario(wanted, tmp_path)
    assert result.completion_s is not None
    assert result.completion_s < 0.5
    trace = [row for row in rows(tmp_path / "packets.csv") if row["direction"] == "downlink"]
    received = [int(row["bytes"]) for row in trace if row["event"] == "received"]
    assert max(received) == 1400 - room
    assert 0 < sum(int(row["bytes"]) == 1500 for row in trace) <= 12  # the initial window


def test_without_a_guest_it_is_unsupported_and_says_what_makes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("minitopo_dc.extension._existing", lambda *_: iter(()))
    result = run_scenario(scenario(), tmp_path)
    assert result.status == "unsupported"
    assert "minitopo-dc build linux" in result.reason


def test_two_runs_in_different_directories_have_the_same_packets(tmp_path: Path) -> None:
    """Also with other work beside one of them, and another directory for temporary files."""
    lossy = {"downlink": {**LEG["downlink"], "loss_percent": 1}, "uplink": LEG["uplink"]}
    wanted = multipath(legs=[LEG, lossy], virtual=TRACED, seed=7)
    run(wanted, tmp_path / "a")
    with busy_program():
        run(wanted, tmp_path / "b" / "in" / "another")
    names = ("packets.csv", "paths.csv", "connections.csv", "gnb-legs.csv")
    for name in names:
        assert (tmp_path / "a" / name).read_bytes() == (
            tmp_path / "b/in/another" / name
        ).read_bytes()
    assert len(rows(tmp_path / "a" / "packets.csv")) > 1000


@contextmanager
def busy_program() -> Iterator[None]:
    """A program that computes for nothing, for a block."""
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as program:
        time.sleep(0.05)
        yield
        program.kill()


def legs_of(result: RunResult) -> list[int]:
    assert result.leg_bytes is not None
    return result.leg_bytes


def rows(path: Path) -> list[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def mute_kernel(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Make the guest's kernel a program that ends at once, as where ptrace is forbidden."""
    real = linux_guest.parts()
    monkeypatch.setattr(guest, "parts", lambda: real._replace(kernel=Path("/bin/false")))
    guest.boot_obstacle.cache_clear()
    yield
    guest.boot_obstacle.cache_clear()


@pytest.mark.usefixtures("mute_kernel")
def test_where_no_guest_boots_a_run_is_unsupported_and_is_known_to_be_beforehand(
    tmp_path: Path,
) -> None:
    reason = "the guest kernel has ended: its process has ended, exit code 1"
    assert run_obstacle(scenario()) == reason
    result = run_scenario(scenario(), tmp_path)
    assert (result.status, result.reason) == ("unsupported", reason)


def test_where_a_guest_boots_nothing_is_in_the_way() -> None:
    guest.boot_obstacle.cache_clear()
    assert run_obstacle(scenario()) is None
