"""Malformed files and options that a user gives, by the code that reads them.

Each kind makes an input and gives it to its reader, yields when the file itself was accepted, and
then goes on as cheaply as it can: a scenario is run on the virtual clock with few bytes, of an
element's settings its cores are made.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.hostile import Kind
from benchmarks.hostile.examples import CAMPAIGN, KNOWN, MINITOPO, OPTIONS, SCENARIOS, TRACES
from benchmarks.hostile.mutations import GARBLED, HOSTILE, garbled, near_text, written
from minitopo_dc.cli import entry
from minitopo_dc.cli.options import rows as options
from minitopo_dc.clocks import chosen_jobs, run_checked
from minitopo_dc.errors import InputError
from minitopo_dc.fields import SettingsError
from minitopo_dc.minitopo import read_minitopo
from minitopo_dc.pdcp import PolicyError
from minitopo_dc.router.element import Schedule
from minitopo_dc.runs.check import check_scenario
from minitopo_dc.runs.routers import gnb_settings, ue_settings
from minitopo_dc.scenario import Scenario, resolve_scenario
from minitopo_dc.scenario.element import ElementSettings, wifi_paths
from minitopo_dc.trace import TraceError, read_trace, to_opportunities, trace_info
from minitopo_dc.workloads import Workload

NO_ARGUMENTS = (10**400, "\0", "\ud800")
"""What no argument of a program can be (and Python does not write so long a number)."""
LEAST = {
    "size_mb": 0.02,
    "request_bytes": 2_000,
    "response_bytes": 2_000,
    "count": 3,
    "interval_s": 0.6,
    "patience_s": 2.0,
    "timeout_s": 2.0,
}
"""Of a run, which ends in time on a leg of 1 Mbit/s."""


def _scenario(rng: Random, directory: Path) -> Iterator[None]:
    path = written(rng, rng.choice(SCENARIOS), directory / "scenario.yaml", KNOWN)
    scenario = Scenario.load(path)
    yield
    _run(scenario, path)
    derived = resolve_scenario(scenario).scenario
    for settings in (gnb_settings(derived, directory), ue_settings(derived, directory)):
        _build(settings)


def _minitopo(rng: Random, directory: Path) -> Iterator[None]:
    files = directory / "topo", directory / "xp"
    texts = list(rng.choice(MINITOPO))
    changed = rng.randrange(2)
    texts[changed] = _changed_text(rng, texts[changed], after=":")
    for path, text in zip(files, texts, strict=True):
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
    run = read_minitopo(*files)
    yield
    if not run.interactive:
        _run(run.scenario, files[0])


def _run(scenario: Scenario, file: Path) -> None:
    """Run a scenario on the virtual clock with few bytes, in little time."""
    checked = scenario.on_clock("virtual")
    try:
        check_scenario(checked)
    except InputError as error:
        raise SettingsError(f"{file}: {error}") from None  # as the command does
    flows = (flow.model_copy(update=_least(flow)) for flow in checked.flows)
    small = checked.model_copy(update={**_least(checked), "flows": tuple(flows)})
    result = run_checked(small, file.parent / "out")
    if result.status != "ok" and not result.reason:
        raise AssertionError(f"{result.status} without a reason")


def _least(settings: Any) -> dict[str, Any]:
    """Return the values of `LEAST` that settings, at any depth, are more than."""
    lower: dict[str, Any] = {}
    for name in type(settings).model_fields:
        value = getattr(settings, name)
        if isinstance(value, Workload):
            lower[name] = value.model_copy(update=_least(value))
        elif name in LEAST and value is not None:
            lower[name] = min(value, LEAST[name])
    return lower


def _element(rng: Random, directory: Path) -> Iterator[None]:
    scenario = resolve_scenario(Scenario.check(rng.choice(SCENARIOS), "base")).scenario
    made = rng.choice((gnb_settings, ue_settings))(scenario, directory)
    document = made.model_dump(mode="json", exclude_defaults=True)
    path = written(rng, document, directory / "element.yaml", KNOWN)
    settings = ElementSettings.load(path)
    yield
    try:
        _build(settings)
    except (SettingsError, TraceError, PolicyError) as error:
        raise SettingsError(f"{path}: {error}") from None  # as the element does


def _build(settings: ElementSettings) -> None:
    """Build the cores that an element makes of its settings, on either clock."""
    paths = wifi_paths((settings,))
    legs = {leg.leg: leg.build(paths) for leg in settings.legs}
    Schedule(settings.legs, legs, lambda _: None)
    for bearer in settings.transmit:
        states = [legs[number] for number in bearer.legs if number in legs]
        room = settings.queue_packets(bearer)
        bearer.pdcp.transmitter(len(bearer.legs), states, queue_packets=room)
    for received in settings.receive:
        received.pdcp.receiver(len(received.legs))


def _trace(rng: Random, directory: Path) -> Iterator[None]:
    path = directory / "trace.csv"
    text, column = rng.choice(TRACES)
    path.write_bytes(_changed_text(rng, text).encode("utf-8", "surrogatepass"))
    if rng.random() < 0.1:
        column = rng.choice(("DL_bitrate", "dl_kbps", "channel_1_mbps", "x:mbps"))
    trace = read_trace(path, column=column) if column else read_trace(path)
    yield
    trace_info(trace)
    words = ["--column", column] if column else []
    _main(["trace", "convert", str(path), str(directory / "o.mahimahi"), *words])
    if not hasattr(trace, "times_ms"):
        with contextlib.suppress(ValueError):
            to_opportunities(trace)


def _changed_text(rng: Random, text: str, after: str = "") -> str:
    """Return a text with one field of a line changed, or garbled."""
    if rng.random() < GARBLED:
        return garbled(rng, text)
    lines = text.splitlines()
    place = rng.randrange(len(lines))
    key, sign, value = lines[place].partition(after) if after else ("", "", lines[place])
    lines[place] = key + sign + near_text(rng, value)
    return "\n".join(lines) + "\n"


def _options(rng: Random, directory: Path) -> Iterator[None]:
    (directory / "TRACE.csv").write_text(TRACES[0][0])
    (directory / "CAMPAIGN.py").write_text(CAMPAIGN)
    words = rng.choice(OPTIONS).split()
    place = rng.choice([n for n, word in enumerate(words) if n > 1 and not word.startswith("--")])
    value = near_text(rng, words[place])
    if rng.random() < GARBLED:
        place = rng.randrange(2, len(words))
        value = str(rng.choice([wrong for wrong in HOSTILE if wrong not in NO_ARGUMENTS]))
    words[place] = value.translate({0: None, 0xD800: None})
    words = [_placed(word, directory) for word in words]
    parsed = entry.parser().parse_args(words)
    yield
    if words[0] != "compare":
        entry.command(parsed.command).execute(parsed)
        return
    # What `compare` does before it runs anything.
    parsed.clock = "virtual"
    base = options.base_scenario(parsed)
    chosen_jobs(parsed.jobs, base.clock)
    for row in options.rows(parsed, base):
        check_scenario(Scenario.check({**base.model_dump(), **row}, "options"))


def _placed(word: str, directory: Path) -> str:
    is_file = word.endswith((".csv", ".py", ".mahimahi")) and "/" not in word
    return str(directory / word) if is_file else word


def _main(words: list[str]) -> None:
    """Run a command as the command line does, but let unforeseen errors through."""
    parsed = entry.parser().parse_args(words)
    entry.command(parsed.command).execute(parsed)


KINDS: dict[str, Kind] = {
    "scenario": _scenario,
    "minitopo": _minitopo,
    "trace": _trace,
    "element": _element,
    "options": _options,
}
