"""What a run needs, how it is identified, tried, shown and performed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from minitopo_dc import Download, Leg, Scenario
from minitopo_dc.campaign import executors
from minitopo_dc.cli import entry
from minitopo_dc.clocks import run_scenario
from minitopo_dc.errors import InputError
from minitopo_dc.fields import SettingsError
from minitopo_dc.results.kept_scenario import load_to_run, run_id
from minitopo_dc.results.run_result import RunResult
from minitopo_dc.runs.check import check_scenario
from minitopo_dc.runs.needs import cautions, needs, print_once
from minitopo_dc.runs.perform import Retries
from minitopo_dc.workloads.download import Upload
from tests.linux_guest.guests import needs_guest
from tests.quic.extension import needs_picoquic
from tests.results.synthetic_runs import no_result, result

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").rglob("*.yaml"))
LEG = Leg(rate_mbps=20, delay_ms=10)
"""A product of 50 kB, and a queue of 150 kB, which takes 60 ms."""
LATE = LEG.evolve(delay_ms=60)


def scenario(*legs: Leg, **more: Any) -> Scenario:
    values = {"transport": "quic-picoquic", "mode": "dc", "workload": Download(size_mb=2), **more}
    return Scenario(legs=legs, clock="virtual", **values)


def unmet(made: Scenario) -> list[str]:
    return [need.words.partition(":")[0] for need in needs(made) if not need.is_met]


def test_the_default_scenario_has_all_that_it_needs() -> None:
    lines = [need.words for need in needs(scenario(LEG, LEG))]
    queue = "0.15 MB, 3 times its bandwidth-delay product of 0.05 MB; cubic needs 0.021 MB"
    assert lines == [
        "slow start: from 10 packets on it fills the legs after 0.19 MB and 2.8 round trips; "
        "the transfer has 2 MB",  # 2 x 40 Mbit/s x 20 ms - 14.6 kB
        "receive window: 0.4 MB are needed, max_data and max_stream_data allow 17 MB",  # 80 ms
        "Leg 1 is primary (as given): DC's master node and primaryPath (TS 37.340, 38.331), "
        "multipath's initial path.",
        "t-Reordering: 200 ms; the legs' skew is 0 ms, and 60 ms when the slower one's queue is "
        "full",
        f"queue of leg 1: {queue}",
        f"queue of leg 2: {queue}",
        "ports: server udp port 4433; the client's is the kernel's choice",
    ]
    assert unmet(scenario(LEG, LEG)) == []


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (scenario(LEG, LEG, workload=Download(size_mb=0.18)), ["slow start"]),
        (scenario(LEG, LATE, pdcp={"t_reordering_ms": 100}), ["t-Reordering"]),
        (scenario(LEG, LATE, pdcp={"t_reordering_ms": 120}), []),
        (scenario(LEG, LATE, pdcp={"split": "least-delay", "t_reordering_ms": 50}), []),
        (scenario(LEG, LEG, options={"max_data": 390_000}), ["receive window"]),
        (scenario(LEG, LEG, options={"max_data": 410_000}), []),
        (scenario(LEG, LEG.evolve(queue_packets=14)), ["queue of leg 2"]),
        (scenario(LEG, LEG.evolve(queue_packets=15)), []),
        (scenario(LEG, LEG.evolve(queue_packets=15), congestion_control="newreno"), 1),
        (scenario(LEG, LEG.evolve(queue_packets=1), congestion_control="bbr"), []),
        (scenario(LEG, LEG.evolve(queue_packets=14), mode="sc", leg=1), []),
    ],
)
def test_what_falls_short_is_said(made: Scenario, words: list[str] | int) -> None:
    said = unmet(made)
    assert (len(said) if isinstance(words, int) else said) == words


@pytest.mark.parametrize(("timer_ms", "is_met"), [(50, False), (60, True)])
def test_a_split_over_xn_needs_a_timer_above_skew_and_xn(timer_ms: int, is_met: bool) -> None:
    """50 ms of propagation and 5 ms of Xn: statuses come too late to send in order."""
    made = scenario(LEG, LATE).with_dc("deployable")
    made = made.evolve(pdcp=made.pdcp.evolve(t_reordering_ms=timer_ms))
    (line,) = (need for need in needs(made) if "t-Reordering" in need.words)
    assert line.is_met == is_met
    assert "55 ms" in line.words


@pytest.mark.parametrize(
    "unit",
    [{"queue_ms": 60}, {"queue_bytes": 150_000}, {"queue_bytes": 150_000, "queue_packets": 200}],
)
def test_a_queue_is_the_same_in_each_unit_at_any_rate(unit: dict[str, Any]) -> None:
    slower = {"changes": [{"at_s": 0, "rate_mbps": 10}]}
    packets, other = (LEG.evolve(**slower, **queue) for queue in ({"queue_packets": 100}, unit))
    assert needs(scenario(LATE, packets)) == needs(scenario(LATE, other))


def with_mtu(
    mtu_bytes: int, mode: str = "dc", transport: str = "quic-picoquic", **more: Any
) -> Any:
    """A small download over legs that lose what is larger."""
    leg = LEG.evolve(mtu_bytes=mtu_bytes, uplink={"rate_mbps": 20, "mtu_bytes": mtu_bytes})
    size = {"workload": Download(size_mb=0.02), "timeout_s": 10}
    return scenario(leg, leg, mode=mode, transport=transport, **size | more)


MP = {"mode": "multipath", "transport": "mpquic-picoquic"}
LARGEST = [
    (1228, {"mode": "sc"}),
    (1248, {"mode": "sc", "ip_version": 6}),
    (1228, {"mode": "sc", "transport": "quic"}),
    (1328, {"mode": "sc", "options": {"max_datagram_bytes": 1300}}),
    (1231, {}),
    (1230, {"pdcp": {"sn_bits": 12}}),
    (1231, {"mode": "dc-duplicate"}),
    (1231, {"mode": "atsss"}),
    (1228, MP),
    (1248, {**MP, "ip_version": 6}),
    (1500, {"mode": "sc", "transport": "tcp"}),
    (1440, {"mode": "sc", "transport": "tcp", "options": {"mss_bytes": 1400}}),
    (1503, {"transport": "tcp"}),
    (1500, {"mode": "multipath", "transport": "mptcp"}),
]


@needs_picoquic
@needs_guest
@pytest.mark.parametrize(("size", "fields"), LARGEST)
def test_an_mtu_below_the_largest_packet_is_said_and_fails(
    size: int, fields: dict[str, Any], tmp_path: Path
) -> None:
    said = [line.words for line in needs(with_mtu(size - 1, **fields)) if not line.is_met]
    assert any(f"{size - 1} bytes" in words and f"up to {size} there" in words for words in said)
    assert "MTU of leg 1" not in unmet(with_mtu(size, **fields))
    results = [run_scenario(with_mtu(size - n, **fields), tmp_path / str(n)) for n in (1, 0)]
    assert [result.status for result in results] == ["failed", "ok"]


def test_a_tunnel_of_atsss_needs_its_own_headers_too() -> None:
    tunnel = {"mode": "atsss", "transport": "mpquic-picoquic"}
    for mtu_bytes, legs in ((1274, ["MTU of leg 1", "MTU of leg 2"]), (1275, [])):
        said = unmet(with_mtu(mtu_bytes, **tunnel))
        assert [words for words in said if "MTU" in words] == legs


@pytest.mark.parametrize("can", [{"virtual": {"sysctl": {"net.ipv4.tcp_mtu_probing": "1"}}}, {}])
def test_tcp_that_finds_the_mtu_needs_none(can: dict[str, Any]) -> None:
    icmp = {} if can else {"mtu_icmp": True}
    made = scenario(LEG.evolve(mtu_bytes=1400, **icmp), mode="sc", transport="tcp", **can)
    assert not [line for line in needs(made) if "MTU" in line.words]


@pytest.mark.parametrize(
    ("rate_mbps", "size_mb", "words"),
    [
        (0.0003, 0.001, ["rate of leg 1"]),  # 40 s a packet
        (0.0005, 0.001, []),  # 24 s
        (0.00002, 0.001, ["rate of leg 1", "time"]),
        (0.1, 3.7, []),  # 300 s have 3.75 MB
        (0.1, 3.8, ["time"]),
    ],
)
def test_a_rate_too_low_for_a_packet_or_for_the_transfer_is_said(
    rate_mbps: float, size_mb: float, words: list[str]
) -> None:
    made = scenario(Leg(rate_mbps=rate_mbps, delay_ms=0), mode="sc", transport="quic-picoquic")
    said = unmet(made.evolve(workload=Download(size_mb=size_mb)))
    assert [line for line in said if not line.startswith(("slow", "queue"))] == words


def test_an_upload_s_timer_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    legs = (LEG, Leg(rate_mbps=20, delay_ms=60, uplink={"rate_mbps": 20, "delay_ms": 60}))
    made = scenario(*legs, workload=Upload(size_mb=2), split_uplink=True)
    made = made.evolve(pdcp=made.pdcp.evolve(t_reordering_ms=40))
    print_once(cautions(made))
    print_once(need.words for need in needs(made) if not need.is_met)
    assert capsys.readouterr().err.count("t-Reordering") == 1


def test_a_timer_below_the_skew_is_the_caution_s_line(capsys: pytest.CaptureFixture[str]) -> None:
    made = scenario(LEG, LATE, pdcp={"t_reordering_ms": 30})
    print_once(cautions(made))
    print_once(need.words for need in needs(made) if not need.is_met)
    assert capsys.readouterr().err.count("t-Reordering") == 1


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_examples_have_what_they_need(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check_scenario(load_to_run(path))
    assert entry.run_command(["check", str(path)], lambda: None) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines
    assert all(line.startswith("✓ ") for line in lines)


UPLINK = {"rate_mbps": 20, "delay_ms": 10, "queue_packets": 10_000}
LEGS = [{"downlink": {"rate_mbps": 20}, "uplink": UPLINK}] * 2


def test_a_field_that_has_its_default_changes_no_identity() -> None:
    bare = Scenario.check({"transport": "tcp", "mode": "sc", "legs": LEGS}, "test")
    named = bare.model_dump() | {"congestion_control": "cubic"}
    assert run_id(Scenario.check(named, "test")) == run_id(bare)
    assert run_id(bare.evolve(congestion_control="reno")) != run_id(bare)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
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


@pytest.mark.parametrize(
    ("attempts", "retries", "kept"),
    [
        ("ok", Retries(), {}),
        ("disturbed ok", Retries(), {"disturbed_attempts": 1}),
        ("disturbed disturbed", Retries(), {"disturbed_attempts": 1}),
        ("disturbed", Retries(disturbed=0), {}),
        ("disturbed disturbed ok", Retries(disturbed=2), {"disturbed_attempts": 2}),
        ("failed", Retries(), {}),
        ("failed disturbed ok", Retries(failed=1), {"failed_attempts": 1, "disturbed_attempts": 1}),
        ("unsupported", Retries(failed=3, disturbed=3), {}),
    ],
)
def test_a_run_is_tried_as_often_as_allowed(
    attempts: str,
    retries: Retries,
    kept: dict[str, int],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    statuses = attempts.split()
    left = iter(statuses)

    def once(_: Scenario, directory: Path) -> RunResult:
        directory.mkdir()  # each attempt finds none
        status = next(left)
        return result() if status == "ok" else no_result("tcp", "sc", status, f"why {status}")

    monkeypatch.setattr(executors, "attempt", once)
    small = scenario(LEG, mode="sc", transport="quic", workload=Download(size_mb=0.01))
    last = executors.perform(small, tmp_path / "run", retries)
    assert (last.status, [*left]) == (statuses[-1], [])
    assert {name: why for name, why in last.details.items() if name.endswith("_attempts")} == {
        name: [f"why {name.removesuffix('_attempts')}"] * number for name, number in kept.items()
    }


def test_an_earlier_run_is_not_overwritten(tmp_path: Path) -> None:
    small = scenario(LEG, mode="sc", transport="quic", workload=Download(size_mb=0.01))
    assert run_scenario(small, tmp_path).status == "ok"  # an empty directory is taken
    before = (tmp_path / "result.json").read_bytes()
    with pytest.raises(SettingsError, match="exists"):
        run_scenario(small, tmp_path)
    assert (tmp_path / "result.json").read_bytes() == before
