"""What commands refuse: status 2, one line that names what is wrong, and nothing is left."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from minitopo_dc import cli

TWO = ["compare", "--legs", "20", "20"]
SET = [*TWO, "--set"]
WORKLOAD = [*TWO, "--clock", "virtual", "--workload"]
FILES = {
    "rates.csv": "time_s,rate_mbps\n0,1\n",
    "cells.csv": "time_s,operator,carrier,cell,rsrp_dbm\n0,A,1,x,-90\n",
    "channels.csv": "time_s,channel_1_mbps,channel_1_cell\n0,1,A/1/x\n",
    "nothing.csv": "0,0\n1,0\n",
    "endless.csv": "0,200\n600000,\n",
    "incomplete.yaml": "transport: tcp\nlegs: [{rate_mbps: 9}]\n",
}
"""What is there, in the current directory."""
HELP = "--help` lists the options"
FILES_WANTED = "give SCENARIO.yaml, or -t TOPO and -x XP, or -t TOPO alone"
NO_FILE = "regular file"
REFUSED = [
    (["run", "pipe.py", "--clock", "virtual"], NO_FILE),
    (["campaign", "run", "pipe.py"], NO_FILE),
    (["trace", "info", "pipe.py"], NO_FILE),
    (["compare", "--clock", "virtual", "--legs", "pipe.py", "20"], NO_FILE),
    (["run", "-t", "pipe.py", "-x", "pipe.py", "--clock", "virtual"], NO_FILE),
    (["run"], FILES_WANTED),
    (["run", "-x", "xp"], FILES_WANTED),
    (["run", "s.yaml", "-t", "topo", "-x", "xp"], FILES_WANTED),
    *(([*TWO, f"--retry-disturbed={n}"], f": {n}; allowed: 0 to 10") for n in ("-1", "11")),
    (
        ["campaign", "run", "mesh", "--retry-disturbed=-1"],
        "--retry-disturbed: -1; allowed: 0 to 10",
    ),
    ([*TWO, "--clock", "virtual", "--jobs", "0"], "--jobs: 0; allowed: 1 to 1024"),
    (
        [*TWO, "--split", "least-delay", "threshold", "--set", "pdcp.parameters.treshold=1"],
        "no policy has treshold; least-delay: none; threshold: ",
    ),
    (["compare", "--legs", "20", "/none.csv"], "/none.csv: No such file"),
    (["compare", "--delay", "fast"], "--delay: fast is no number in digits, such as 10 or 10ms; "),
    (["compare", "--transports", "sctp"], "--transports: sctp; allowed: "),
    (["compare", "--transports", "tcp", "--modes", "multipath"], "no transport here can do"),
    (["compare", "--repetitions", "0"], "--repetitions: 0; allowed: 1 to 10000"),
    (["compare", "--output", "."], "--output: . exists"),
    (["compare", "--clock", "x"], "compare: --clock: invalid choice: 'x' (choose from"),
    (["compare", "--repetitions", "1e3"], "--repetitions: no whole number in digits: '1e3'"),
    ([*SET, "legs.1"], "--set legs.1: allowed: FIELD=VALUE, each field once"),
    ([*SET, "pdcp.bath=5"], "pdcp.bath: unknown field; did you mean batch?; known: "),
    ([*SET, "seeds=5"], "seeds: unknown field; did you mean seed?; known: "),
    ([*SET, "legs.5.downlink.delay_ms=5"], "--set legs.5.downlink.delay_ms: 5 is no index here; "),
    ([*SET, "pdcp.flow_control={"], "--set pdcp.flow_control={: the value is not YAML"),
    ([*SET, "mode=dc"], "--set mode: the command chooses it; `--help` lists its options"),
    ([*SET, "pdcp.split=batch"], "--set pdcp.split: the command chooses it"),
    ([*SET, "options.max_speed=3"], "--set options.max_speed: no transport here has the option"),
    ([*SET, "paths.initial=[]"], "--set paths: initial: name at least one leg"),
    ([*SET, "seed=1", "--set", "seed=2"], "--set seed=2: allowed: FIELD=VALUE, each field once"),
    (["compare", "--legs", "40", "12", "--rtt", "30"], "did you mean --delay, which is one-way?"),
    (["compare", "--bandwith=3"], f"compare: no option --bandwith; `minitopo-dc compare {HELP}"),
    (["compare", "--legs", "40", "12", "--upload"], "did you mean --workload upload?"),
    (["compare", "--trace-columns", "x=3"], "--trace-columns; did you mean --trace-column?"),
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
    (["advise", "--delay", "1", "2", "3"], "--delay: 3 values for 2 legs; give 1 or 2"),
    (["explore", "--port", "70000"], "--port: 70000; allowed: 1 to 65535, or 0 for any"),
    (["trace", "channels", "cells.csv", "rates.csv", "out.csv"], "rates.csv:1: header"),
    (["trace", "synthesise-drive", "o.csv", "--noise", "21"], "noise_db = 21: must be 0 to 20 dB"),
    (["trace", "cells", "cells.csv", "--figure", "no/d.png"], "No such file"),
    (["trace", "cells", "channels.csv", "--scale", "2"], "channels.csv: has capacities already"),
    (["trace", "convert", "nothing.csv", "o.mahimahi"], "carries less than one packet"),
    (["trace", "convert", "endless.csv", "o.mahimahi"], "1500 bytes; allowed: 10,000,000"),
    (
        ["trace", "convert", "cells.csv", "o.csv", "--carrier", "gsm"],
        "--carrier: gsm; allowed: lte",
    ),
    (["trace", "convert", "cells.csv", "o.csv", "--uplink"], "--uplink: need --carrier"),
    (["trace", "synthesise", "o.csv", "--mean", "1e308"], "must be "),
    ([*TWO, "--dc", "ideal,ideal"], "--dc: ideal ideal; one value or more, each once"),
    ([*TWO, "--modes", "dual"], "--modes: dual; allowed: sc, dc, "),
    ([*TWO, "--dc", "best"], "--dc: best; allowed: papers, deployable, ideal"),
    ([*TWO, "--dc", "ideal", "--xn", "3"], "--xn: only --dc deployable has an Xn"),
    ([*TWO, "--split", "batch", "--xn", "3"], "--xn: only --dc deployable has an Xn"),
    ([*TWO, "--uplink-column", "UL:mbps"], "--uplink-column: UL:mbps: 20 is a"),
    ([*WORKLOAD, "movie"], "kind movie; allowed: download, upload, "),
    ([*WORKLOAD, "ping:count"], "--workload: count; allowed: NAME:KEY=VALUE,KEY=VALUE,..."),
    (
        [*WORKLOAD, "command:client=curl"],
        "command: client: curl is no list; write lists in a scenario file",
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
    os.mkfifo(tmp_path / "pipe.py")
    return tmp_path


@pytest.mark.parametrize(("arguments", "words"), REFUSED)
def test_a_mistake_is_one_line_that_names_it_and_leaves_nothing(
    arguments: list[str], words: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(arguments) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("minitopo-dc: ")
    assert words in line
    assert {path.name for path in here.iterdir()} == {"pipe.py", *FILES}
