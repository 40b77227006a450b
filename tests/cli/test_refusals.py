"""What commands refuse: status 2, one line that names what is wrong, and nothing is left."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from minitopo_dc import cli
from minitopo_dc.cli.entry import REPLACED
from minitopo_dc.fields import SettingsError
from minitopo_dc.scenario import Scenario
from minitopo_dc.scenario.field_paths import set_value

TWO = ["compare", "--legs", "20", "20"]
SET = [*TWO, "--set"]
WORKLOAD = [*TWO, "--clock", "virtual", "--workload"]
PING = "transport: icmp\nmode: sc\nlegs: [{downlink: {rate_mbps: 10}}]\nworkload: {kind: ping}\n"
FILES = {
    "rates.csv": "time_s,rate_mbps\n0,1\n",
    "cells.csv": "time_s,operator,carrier,cell,rsrp_dbm\n0,A,1,x,-90\n",
    "channels.csv": "time_s,channel_1_mbps,channel_1_cell\n0,1,A/1/x\n",
    "nothing.csv": "0,0\n1,0\n",
    "endless.csv": "0,200\n600000,\n",
    "incomplete.yaml": "transport: tcp\nlegs: [{rate_mbps: 9}]\n",
}
"""What is there, in the current directory."""
NO_POSITIVE = [
    ["trace", "synthesise", "o.csv", option, value]
    for option in ("--users", "--sinr", "--seconds", "--mean", "--speed")
    for value in ("nan", "inf", "1e308")
]
HELP = "--help` lists the options"
REFUSED = [
    ([*TWO, "--delay", "1", "2", "3"], "--delay: 3 values for 2 legs"),
    (["compare", "--legs", "20", "/none.csv"], "/none.csv: No such file"),
    (["compare", "--legs", "20", "-5"], "legs.1.downlink.rate_mbps"),
    (["compare", "--delay", "fast"], "--delay: fast is no number in digits, such as 10 or 10ms; "),
    (["compare", "--transports", "sctp"], "--transports: sctp; allowed: "),
    (
        ["compare", "--modes", "both"],
        "--modes: both; allowed: sc, dc, dc-duplicate, atsss, multipath",
    ),
    (["compare", "--transports", "tcp", "--modes", "multipath"], "no transport here can do"),
    (["compare", "--repetitions", "0"], "--repetitions: 0; allowed: 1 to 10000"),
    (["compare", "--size", "0"], "size_mb"),
    (["compare", "--congestion-control", "vegas"], "vegas; allowed: reno, cubic, bbr"),
    (["compare", "--set", "legs.0.downlink.end=never"], "'loop', 'hold' or 'stop'"),
    (["compare", "--output", "."], "--output: . exists"),
    (["compare", "--clock", "x"], "compare: --clock: invalid choice: 'x' (choose from"),
    (["compare", "--repetitions", "1e3"], "--repetitions: no whole number in digits: '1e3'"),
    ([*SET, "legs.1"], "--set legs.1: allowed: FIELD=VALUE, each field once"),
    ([*SET, "=5"], "--set =5: allowed: FIELD=VALUE"),
    ([*SET, "pdcp.bath=5"], "pdcp.bath: unknown field; did you mean batch?; known: "),
    ([*SET, "seeds=5"], "seeds: unknown field; did you mean seed?; known: "),
    ([*SET, "legs.5.downlink.delay_ms=5"], "--set legs.5.downlink.delay_ms: 5 is no index here; "),
    ([*SET, "legs.one.queue_packets=5"], "one is no index here; allowed: 0 to 1 or *"),
    ([*SET, "pdcp.flow_control={"], "--set pdcp.flow_control={: the value is not YAML"),
    ([*SET, "mode=dc"], "--set mode: the command chooses it; `--help` lists its options"),
    ([*SET, "pdcp.split=batch"], "--set pdcp.split: the command chooses it"),
    ([*SET, "label.x=1"], "label: unknown field; "),
    ([*SET, "pdcp.ratio=[1, 2, 3]"], "ratio"),
    ([*SET, "pdcp.t_reordering_ms=7"], "t_reordering"),
    ([*SET, "legs.0.downlink.loss_percent=101"], "legs.0.downlink.loss_percent: 101; allowed: 0"),
    ([*SET, "options.max_speed=3"], "--set options.max_speed: no transport here has the option"),
    ([*SET, "options=3"], "--set options: no transport here has the option"),
    ([*SET, "paths.initial=[]"], "--set paths: initial: name at least one leg"),
    ([*SET, "seed=1", "--set", "seed=2"], "--set seed=2: allowed: FIELD=VALUE, each field once"),
    (["compare", "--legs", "40", "12", "--rtt", "30"], "did you mean --delay, which is one-way?"),
    (["compare", "--bandwith=3"], f"compare: no option --bandwith; `minitopo-dc compare {HELP}"),
    (["compare", "--trace-columns", "x=3"], "--trace-columns; did you mean --trace-column?"),
    (["run", "--size", "3"], f"run: no option --size; `minitopo-dc run {HELP}"),
    (["run", "incomplete.yaml"], "incomplete.yaml: mode: missing; give it"),
    (["campaign", "run"], "campaign run: the following arguments are required"),
    (["campaign", "run", "study", "--sedes", "3"], "no option --sedes; did you mean --seeds?"),
    (
        ["exec", "--legs", "20", "20", "ping", "-c", "1", "10.0.0.2"],
        "exec: no option -c; write -- before your program",
    ),
    (["advise", "--legs", "30"], "--legs: 1; allowed: two or more"),
    (["advise", "--workload", "ping"], "--workload: ping; allowed: download, request-response"),
    (["advise", "--transports", "tcp"], "--transports: tcp: 0 can do mode multipath"),
    (["advise", "--margin", "0"], "--margin: 0; allowed: 0.1 to 100 %"),
    (["advise", "--time", "0"], "--time: 0; allowed: 1 to 86400 s"),
    (["advise", "--jobs", "0"], "--jobs: 0; allowed: 1 to 1024"),
    (["advise", "--delay", "1", "2", "3"], "--delay: 3 values for 2 legs; give 1 or 2"),
    (["explore", "--port", "70000"], "--port: 70000; allowed: 1 to 65535"),
    (["trace", "cells", "missing.csv"], "missing.csv: No such file"),
    (["trace", "channels", "cells.csv", "out.csv", "--load", "2"], "load = 2: must be 0 to 1"),
    (["trace", "channels", "cells.csv", "no/out.csv"], "no/out.csv: No such file"),
    (["trace", "channels", "cells.csv", "rates.csv", "out.csv"], "rates.csv:1: header"),
    (["trace", "synthesise-drive", "o.csv", "--seconds", "0"], "duration = 0: must be 1"),
    (["trace", "synthesise-drive", "o.csv", "--noise", "21"], "21 dB: allowed: 0 to 20"),
    (["trace", "cells", "cells.csv", "--figure", "no/d.png"], "No such file"),
    (["trace", "cells", "channels.csv", "--scale", "2"], "channels.csv: has capacities already"),
    (["trace", "convert", "nothing.csv", "o.mahimahi"], "carries less than one packet"),
    (["trace", "convert", "endless.csv", "o.mahimahi"], "1500 bytes; allowed: 10,000,000"),
    *((words, "must be ") for words in NO_POSITIVE),
    ([*TWO, "--split", "batch", "batch"], "--split: batch batch; one value or more, each once"),
    ([*TWO, "--split", ","], "--split: ; one value or more, each once"),
    ([*TWO, "--dc", "ideal,ideal"], "--dc: ideal ideal; one value or more, each once"),
    ([*TWO, "--dc", "best"], "--dc: best; allowed: papers, deployable, ideal"),
    ([*TWO, "--dc", "ideal", "--xn", "3"], "--xn: only --dc deployable has an Xn"),
    ([*TWO, "--split", "batch", "--xn", "3"], "--xn: only --dc deployable has an Xn"),
    ([*TWO, "--delay", "8Mbit"], "--delay: 8Mbit is no number in digits"),
    ([*TWO, "--delay", "8Mbit"], "; units: ns, us, ms, s, min, h"),
    (["compare", "--legs", "20MB", "20"], "--legs: 20MB is no number in digits"),
    ([*TWO, "--uplink", "5s"], "--uplink: 5s is no number"),
    ([*TWO, "--loss", "5ms"], "--loss: 5ms is no number in digits"),
    ([*TWO, "--uplink-column", "UL:mbps"], "--uplink-column: UL:mbps: 20 is a"),
    ([*WORKLOAD, "movie"], "kind movie; allowed: download, request-response, ping"),
    ([*WORKLOAD, "ping:count"], "--workload: count; allowed: NAME:KEY=VALUE,KEY=VALUE,..."),
    ([*WORKLOAD, "ping:count=few"], "--workload: ping: count: few is no number in digits"),
    ([*WORKLOAD, "ping:count=0"], "--workload: ping: count: 0; allowed: 1"),
    (
        [*WORKLOAD, "command:client=curl"],
        "command: client: curl is no list; write lists in a scenario file",
    ),
    ([*WORKLOAD, "ping:size=1"], "ping: size: unknown field; known: count, interval_s"),
    (
        [*WORKLOAD, "request-response", "--size", "3"],
        "--workload: request-response: size_mb: unknown field; known: request_bytes, ",
    ),
    (
        [*WORKLOAD, "request-response:count=2,duration_s=3"],
        "--workload: request-response: give count or duration_s, not both",
    ),
    ([*TWO, "--plugin", "no_such_module"], "plugin no_such_module: ModuleNotFoundError"),
    ([*TWO, "--plugin", "gone.py"], "gone.py: FileNotFoundError"),
]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's directory, with the files."""
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(("arguments", "words"), REFUSED)
def test_a_mistake_is_one_line_that_names_it_and_leaves_nothing(
    arguments: list[str], words: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(arguments) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("minitopo-dc: ")
    assert words in line
    assert {path.name for path in here.iterdir()} == set(FILES)


@pytest.mark.parametrize("option", REPLACED)
@pytest.mark.parametrize("command", ["compare", "run", "exec", "calibrate"])
def test_an_option_that_is_gone_names_what_is_set_instead(
    option: str, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main([command, option, "5"]) == 2
    said = capsys.readouterr().err
    assert said == f"minitopo-dc: {command}: {option} is gone; write --set {REPLACED[option]}\n"
    path = REPLACED[option].partition("=")[0].replace("legs.N", "legs.0")
    document: dict[str, Any] = {"transport": "tcp", "mode": "sc", "legs": [{"rate_mbps": 9}]}
    set_value(document, path.replace("pdcp.FIELD", "pdcp.batch"), {})
    with pytest.raises(SettingsError) as refused:
        Scenario.check(document | {"seed": {}}, "test")
    assert "unknown field" not in str(refused.value)


@pytest.mark.root
@pytest.mark.parametrize(
    ("more", "words"),
    [
        ("count: 0", "workload: ping: count: 0; allowed: 1"),
        ("size: 9", "workload: ping: size: unknown field; known: count, interval_s"),
    ],
)
def test_a_wrong_ping_is_refused_before_there_is_a_results_directory(
    more: str, words: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "ping.yaml").write_text(PING.replace("ping}", f"ping, {more}}}"), encoding="utf-8")
    assert cli.main(["run", "ping.yaml", "--output", "out"]) == 2
    assert words in capsys.readouterr().err
    assert not (here / "out").exists()
