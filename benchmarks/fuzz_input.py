"""Malformed input of every kind: `python -m benchmarks.fuzz_input --count 2000 --seed 1`.

Each input is one that is right, changed at random places: scenarios, campaigns, Minitopo's files,
traces, an element's settings, options. What it comes to is one of

* `accepted`: it is right after all;
* `refused`: one of the project's errors, in a message that names the file or the option;
* `unnamed`: an error whose message names neither, or is longer than `LONGEST_MESSAGE`;
* `traceback`: any other error; `hang`: no end within `LIMIT_S`. These two are faults as well.

Prints a table and each kind of fault once with the seed that makes it again; ends with 1 if there
is any. Nothing is run, and nothing is written but to a temporary directory.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import io
import signal
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any, NamedTuple

import yaml

from minitopo_dc import cli
from minitopo_dc.analysis import ResultError
from minitopo_dc.campaign.store import StoreError
from minitopo_dc.clocks import chosen_jobs
from minitopo_dc.commands import options
from minitopo_dc.minitopo import read_minitopo
from minitopo_dc.pdcp import PolicyError
from minitopo_dc.plugins import PluginError
from minitopo_dc.router import ElementSettings, wifi_paths
from minitopo_dc.router.schedule import Schedule
from minitopo_dc.run.check import check_scenario
from minitopo_dc.run.routers import gnb_settings, ue_settings
from minitopo_dc.scenario import Scenario, as_run
from minitopo_dc.settings import SettingsError
from minitopo_dc.trace import TraceError, read_trace, to_opportunities, trace_info

LIMIT_S = 20
LONGEST_MESSAGE = 5_000
"""Characters of a refusal, over all its lines."""
REFUSALS = (SettingsError, TraceError, ResultError, StoreError, PluginError, PolicyError)
FAULTS = ("unnamed", "traceback", "hang")
HOSTILE: tuple[Any, ...] = (
    *(0, -1, 1, 2**31, 2**63, 10**30, 10**400, 1e-320, 1e308, 0.1, -0.0, 20_000_000),
    *(float("inf"), float("-inf"), float("nan"), "1e400", "nan", "1e999999", "-1", "9" * 5000),
    *(None, True, False, "", " ", "abc", "\0", "\ud800", "x" * 10_000, "²", "../..", "/dev/null"),
    *([], {}, [[]], [None], {"": {}}, {"a": 1}, [1, 2, 3], "=1/0", "=9**9**9", "=x", "$y", "*"),
)
NO_ARGUMENTS = (10**400, "\0", "\ud800")
"""What no argument of a program can be (and Python does not write so long a number)."""
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


class Case(NamedTuple):
    """What an input came to, and why."""

    outcome: str
    words: str


def attempt(kind: str, seed: int, directory: Path) -> Case:
    """Make one malformed input of a kind, and give it to what reads that kind.

    Args:
        kind: of `KINDS`.
        seed: fixes the input.
        directory: empty, for the input and for what is made of it.
    """
    rng = Random(f"{kind} {seed}")
    caught = io.StringIO()
    try:
        with (
            _limit(),
            contextlib.chdir(directory),  # a hostile name of an output is a file there
            contextlib.redirect_stderr(caught),
            contextlib.redirect_stdout(caught),
        ):
            KINDS[kind](rng, directory)
    except REFUSALS as error:
        return _judged(cli.told(str(error)), kind, directory)
    except SystemExit as ended:
        told = caught.getvalue()
        return Case("accepted", "") if ended.code == 0 else _judged(told, kind, directory)
    except TimeoutError:
        return Case("hang", f"more than {LIMIT_S} s")
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(place.filename).name}:{place.lineno}"
        return Case("traceback", f"{type(error).__name__} in {where}: {str(error)[:80]!a}")
    return Case("accepted", "")


def _judged(message: str, kind: str, directory: Path) -> Case:
    named = kind == "options" or any(path.name in message for path in directory.iterdir())
    if not message.strip() or len(message) > LONGEST_MESSAGE or not named:
        return Case("unnamed", ascii(message[:200]))
    return Case("refused", message)


@contextlib.contextmanager
def _limit() -> Iterator[None]:
    def end(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, LIMIT_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _scenario(rng: Random, directory: Path) -> None:
    path = _written(rng, SCENARIO, directory / "scenario.yaml")
    scenario = Scenario.load(path)
    try:
        check_scenario(scenario)
    except (SettingsError, TraceError) as error:
        raise SettingsError(f"{path}: {error}") from None  # as `run` does
    derived = as_run(scenario).scenario
    for settings in (gnb_settings(derived, directory), ue_settings(derived, directory)):
        _build(settings)


def _element(rng: Random, directory: Path) -> None:
    made = gnb_settings(Scenario.check(SCENARIO, "base"), directory)
    path = _written(rng, made.model_dump(mode="json"), directory / "element.yaml")
    try:
        _build(ElementSettings.load(path))
    except PolicyError as error:
        raise SettingsError(f"{path}: {error}") from None  # as the element does


def _build(settings: ElementSettings) -> None:
    """The cores that an element makes of its settings, on either clock."""
    paths = wifi_paths((settings,))
    legs = {leg.leg: SimpleNamespace(leg=leg.build(paths)) for leg in settings.legs}
    Schedule(settings.legs, legs, lambda _: None)
    for bearer in settings.transmit:
        states = [legs[number].leg for number in bearer.legs if number in legs]
        room = settings.queue_packets(bearer)
        bearer.pdcp.transmitter(len(bearer.legs), states, queue_packets=room)
    for received in settings.receive:
        received.pdcp.receiver(len(received.legs))


def _campaign(rng: Random, directory: Path) -> None:
    path = _written(rng, CAMPAIGN, directory / "campaign.yaml")
    _main(["campaign", "run", str(path), "--dry-run", "--clock", "virtual"])


def _minitopo(rng: Random, directory: Path) -> None:
    files = directory / "topo", directory / "xp"
    for path, text in zip(files, (TOPOLOGY, EXPERIMENT), strict=True):
        path.write_bytes(_garbled(rng, text).encode("utf-8", "surrogatepass"))
    check_scenario(read_minitopo(*files).scenario)


def _trace(rng: Random, directory: Path) -> None:
    path = directory / "trace.csv"
    path.write_bytes(_garbled(rng, rng.choice(TRACES)).encode("utf-8", "surrogatepass"))
    column = rng.choice(("DL_bitrate", "dl_kbps", "channel_1_mbps", "x:mbps"))
    trace = read_trace(path, column=column)
    trace_info(trace)
    _main(["trace", "convert", str(path), str(directory / "o.mahimahi"), "--column", column])
    if not hasattr(trace, "times_ms"):
        with contextlib.suppress(ValueError):
            to_opportunities(trace)


def _options(rng: Random, directory: Path) -> None:
    (directory / "TRACE.csv").write_text(TRACES[0])
    (directory / "CAMPAIGN.yaml").write_text(yaml.safe_dump(CAMPAIGN))
    words = rng.choice(OPTIONS).split()
    for _ in range(rng.randint(1, 2)):
        place = rng.randrange(2, len(words))
        value = rng.choice([each for each in HOSTILE if each not in NO_ARGUMENTS])
        words[place] = str(value)
    words = [_placed(word, directory) for word in words]
    if words[0] != "compare":
        _main(words)
        return
    parsed = cli.parser().parse_args(words)  # what `compare` does before it runs anything
    base = options.base_scenario(parsed).model_copy(update={"clock": "virtual"})
    chosen_jobs(parsed.jobs, "virtual")
    for row in options.rows(parsed, "virtual", base.workload.kind):
        check_scenario(Scenario.check({**base.model_dump(), **row}, "options"))


def _placed(word: str, directory: Path) -> str:
    is_file = word.endswith((".csv", ".yaml", ".mahimahi")) and "/" not in word
    return str(directory / word) if is_file else word


def _main(words: list[str]) -> None:
    """As the command line does, but that an error nobody foresaw is one here."""
    parsed = cli.parser().parse_args(words)
    cli.command(parsed.command).execute(parsed)


def _written(rng: Random, document: dict[str, Any], path: Path) -> Path:
    """A document with some values replaced, as YAML; now and then garbled as text too."""
    changed = copy.deepcopy(document)
    for _ in range(rng.choice((0, 1, 1, 1, 2, 3))):
        _change(rng, changed)
    text = yaml.safe_dump(changed, sort_keys=False)
    if rng.random() < 0.3:
        text = _garbled(rng, text)
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    return path


def _change(rng: Random, document: Any) -> None:
    """Replace, add or remove something, at a random depth."""
    place = document
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        if not keys:
            return
        key = rng.choice(keys)
        inner = place[key]
        if isinstance(inner, dict | list) and inner and rng.random() < 0.8:
            place = inner
            continue
        break
    what = rng.random()
    if what < 0.75:
        place[key] = copy.deepcopy(rng.choice(HOSTILE))
    elif what < 0.85:
        del place[key]
    elif isinstance(place, dict):
        place[rng.choice(("x", "seed", "legs", "0", ""))] = copy.deepcopy(rng.choice(HOSTILE))
    else:
        place.append(copy.deepcopy(rng.choice(HOSTILE)))


def _garbled(rng: Random, text: str) -> str:
    """A text with lines and words replaced, doubled, cut."""
    lines = text.splitlines()
    for _ in range(rng.choice((1, 1, 2, 3))):
        place = rng.randrange(len(lines))
        line = lines[place]
        spot = rng.randrange(len(line) + 1)
        numbers = ("1e999999", "20000000", "1000000000000", "-1", "nan", "1e-999999", "9" * 200)
        words = (*numbers, "!!int abc", "2001-99-99", "*a", "&a [*a]", "[" * 300, "\0", ",", ":")
        lines[place] = rng.choice(
            (
                line[:spot],
                line[:spot] + rng.choice(words) + line[spot:],
                line[:spot] + rng.choice(words),
                line + "\n" + line,
                line.replace(line.rpartition(",")[2], rng.choice(words)),
                line.replace(line.partition(",")[0], rng.choice(words)),
                "",
                "x" * 200_000,
            )
        )
    return "\n".join(lines) + rng.choice(("\n", "", "\ufeff"))


KINDS: dict[str, Callable[[Random, Path], None]] = {
    "scenario": _scenario,
    "campaign": _campaign,
    "minitopo": _minitopo,
    "trace": _trace,
    "element": _element,
    "options": _options,
}


def main() -> int:
    """Try, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=600, help="inputs, over all kinds (600)")
    parser.add_argument("--seed", type=int, default=1, help="of the first input (1)")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    chosen = parser.parse_args()
    found: dict[str, Counter[str]] = {kind: Counter() for kind in chosen.kinds}
    faults: dict[tuple[str, str], int] = {}
    for seed in range(chosen.seed, chosen.seed + chosen.count // len(chosen.kinds)):
        for kind in chosen.kinds:
            with tempfile.TemporaryDirectory(prefix="minitopo-dc-fuzz-") as name:
                case = attempt(kind, seed, Path(name))
            found[kind][case.outcome] += 1
            if case.outcome in FAULTS:
                words = case.words.replace(name, "DIR")
                faults.setdefault((kind, f"{case.outcome}: {words}"), seed)
    outcomes = ("accepted", "refused", *FAULTS)
    print(f"{'kind':10}" + "".join(f"{outcome:>11}" for outcome in outcomes))  # noqa: T201
    for kind, counts in found.items():
        print(f"{kind:10}" + "".join(f"{counts[outcome]:11}" for outcome in outcomes))  # noqa: T201
    for (kind, words), seed in faults.items():
        print(f"{kind} --seed {seed}: {words}")  # noqa: T201
    return 1 if faults else 0


if __name__ == "__main__":
    raise SystemExit(main())
