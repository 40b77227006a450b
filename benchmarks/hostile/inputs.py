"""Malformed input of every kind, of which nothing is run.

Each input is one that is right, changed at random places: scenarios, campaigns, Minitopo's files,
traces, an element's settings, options, stores. What it comes to is one of

* `accepted`: it is right after all;
* `refused`: one of the project's errors, in a message that names the file or the option;
* `unnamed`: an error whose message names neither, or is longer than `LONGEST_MESSAGE`;
* `traceback`: any other error; `hang`: no end within `LIMIT_S` of CPU time; `status`: a mistake
  that does not end with 2. These four are faults.
"""

from __future__ import annotations

import contextlib
import io
import signal
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

import yaml

from benchmarks.hostile.examples import CAMPAIGN, EXPERIMENT, OPTIONS, SCENARIO, TOPOLOGY, TRACES
from benchmarks.hostile.mutations import HOSTILE, garbled, written
from benchmarks.hostile.report import Report
from benchmarks.hostile.stores import read_hostile
from minitopo_dc.analysis import ResultError
from minitopo_dc.campaign.execution.store import StoreError
from minitopo_dc.clocks import chosen_jobs
from minitopo_dc.commands import entry
from minitopo_dc.commands.options import scenario as options
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
"""Of CPU time."""
WAIT_LIMIT_S = 300
"""Of real time, which a busy machine gives to others."""
LONGEST_MESSAGE = 5_000
"""Characters of a refusal, over all its lines."""
REFUSALS = (SettingsError, TraceError, ResultError, StoreError, PluginError, PolicyError)
FAULTS = ("unnamed", "traceback", "hang", "status")
OUTCOMES = ("accepted", "refused", *FAULTS)
NO_ARGUMENTS = (10**400, "\0", "\ud800")
"""What no argument of a program can be (and Python does not write so long a number)."""


class HangError(BaseException):
    """It does not end; no handler of errors is to take it for one."""


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
        return _judged(entry.told(str(error)), kind, directory)
    except SystemExit as ended:
        told = caught.getvalue()
        if ended.code not in (0, 2):
            return Case("status", f"{ended.code}: {told[:200]!a}")
        return Case("accepted", "") if ended.code == 0 else _judged(told, kind, directory)
    except HangError:
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
    """Raise HangError when this has worked for too long, or has waited for far too long."""

    def end(*_: object) -> None:
        raise HangError

    limits = {
        signal.SIGPROF: (signal.ITIMER_PROF, LIMIT_S),
        signal.SIGALRM: (signal.ITIMER_REAL, WAIT_LIMIT_S),
    }
    before = {number: signal.signal(number, end) for number in limits}
    for timer, seconds in limits.values():
        signal.setitimer(timer, seconds)
    try:
        yield
    finally:
        for timer, _ in limits.values():
            signal.setitimer(timer, 0)
        for number, handler in before.items():
            signal.signal(number, handler)


def _scenario(rng: Random, directory: Path) -> None:
    path = written(rng, SCENARIO, directory / "scenario.yaml")
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
    path = written(rng, made.model_dump(mode="json"), directory / "element.yaml")
    try:
        _build(ElementSettings.load(path))
    except PolicyError as error:
        raise SettingsError(f"{path}: {error}") from None  # as the element does


def _build(settings: ElementSettings) -> None:
    """The cores that an element makes of its settings, on either clock."""
    paths = wifi_paths((settings,))
    legs = {leg.leg: leg.build(paths) for leg in settings.legs}
    Schedule(settings.legs, legs, lambda _: None)
    for bearer in settings.transmit:
        states = [legs[number] for number in bearer.legs if number in legs]
        room = settings.queue_packets(bearer)
        bearer.pdcp.transmitter(len(bearer.legs), states, queue_packets=room)
    for received in settings.receive:
        received.pdcp.receiver(len(received.legs))


def _campaign(rng: Random, directory: Path) -> None:
    path = written(rng, CAMPAIGN, directory / "campaign.yaml")
    _main(["campaign", "run", str(path), "--dry-run", "--clock", "virtual"])


def _minitopo(rng: Random, directory: Path) -> None:
    files = directory / "topo", directory / "xp"
    for path, text in zip(files, (TOPOLOGY, EXPERIMENT), strict=True):
        path.write_bytes(garbled(rng, text).encode("utf-8", "surrogatepass"))
    check_scenario(read_minitopo(*files).scenario)


def _trace(rng: Random, directory: Path) -> None:
    path = directory / "trace.csv"
    path.write_bytes(garbled(rng, rng.choice(TRACES)).encode("utf-8", "surrogatepass"))
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
    parsed = entry.parser().parse_args(words)  # what `compare` does before it runs anything
    base = options.base_scenario(parsed).model_copy(update={"clock": "virtual"})
    chosen_jobs(parsed.jobs, "virtual")
    for row in options.rows(parsed, "virtual", base.workload.kind):
        check_scenario(Scenario.check({**base.model_dump(), **row}, "options"))


def _placed(word: str, directory: Path) -> str:
    is_file = word.endswith((".csv", ".yaml", ".mahimahi")) and "/" not in word
    return str(directory / word) if is_file else word


def _main(words: list[str]) -> None:
    """As the command line does, but that an error nobody foresaw is one here."""
    parsed = entry.parser().parse_args(words)
    entry.command(parsed.command).execute(parsed)


KINDS: dict[str, Callable[[Random, Path], None]] = {
    "scenario": _scenario,
    "campaign": _campaign,
    "minitopo": _minitopo,
    "trace": _trace,
    "element": _element,
    "options": _options,
    "store": read_hostile,
}


def run(count: int, seed: int, kinds: Sequence[str]) -> Report:
    """Try so many inputs, over all kinds; the first of each kind has this seed."""
    found: dict[str, Counter[str]] = {kind: Counter() for kind in kinds}
    faults: dict[str, int] = {}
    for each in range(seed, seed + max(1, count // len(kinds))):
        for kind in kinds:
            with tempfile.TemporaryDirectory(prefix="minitopo-dc-fuzz-") as name:
                case = attempt(kind, each, Path(name))
            found[kind][case.outcome] += 1
            if case.outcome in FAULTS:
                words = case.words.replace(name, "DIR")
                faults.setdefault(f"{kind}: {case.outcome}: {words}", each)
    rows = [{"kind": kind, **{name: found[kind][name] for name in OUTCOMES}} for kind in kinds]
    return Report(rows, [f"--seed {each}: {words}" for words, each in faults.items()])
