"""Malformed files and options that a user gives, by the code that reads them.

Each kind makes an input and gives it to its reader, yields when the file itself was accepted, and
then goes on as cheaply as it can: a scenario is run on the virtual clock with few bytes, an
element's process is begun where there is no network.
"""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random
from unittest import mock

from benchmarks.hostile.examples import KNOWN, MINITOPO, OPTIONS, SCENARIOS, TRACES, campaign_text
from benchmarks.hostile.kinds import Kind
from benchmarks.hostile.mutations import GARBLED, HOSTILE, garbled, near_text, written
from minitopo_dc import clocks
from minitopo_dc.cli import entry
from minitopo_dc.cli.options import rows as options
from minitopo_dc.clocks import chosen_jobs, run_checked
from minitopo_dc.errors import InputError
from minitopo_dc.minitopo import read_minitopo
from minitopo_dc.pdcp import PolicyError
from minitopo_dc.router import ElementSettings, wifi_paths
from minitopo_dc.router.schedule import Schedule
from minitopo_dc.runs.check import check_scenario
from minitopo_dc.runs.results import RunResult
from minitopo_dc.runs.routers import gnb_settings, ue_settings
from minitopo_dc.scenario import Scenario, resolve_scenario
from minitopo_dc.settings import SettingsError
from minitopo_dc.trace import TraceError, read_trace, to_opportunities, trace_info
from minitopo_dc.workloads import Download, RequestResponse, Workload

NO_ARGUMENTS = (10**400, "\0", "\ud800")
"""What no argument of a program can be (and Python does not write so long a number)."""
MIN_MB = 0.02
MIN_BYTES = 2_000
MIN_REQUESTS = 3
MIN_S = 2.0
"""Of a run, which is more than all of a download of `MIN_MB` on a leg of 1 Mbit/s."""
PROCESS_S = 60
"""For an element's process to end; it takes less than one."""


def _scenario(rng: Random, directory: Path) -> Iterator[None]:
    path = written(rng, rng.choice(SCENARIOS), directory / "scenario.yaml", KNOWN)
    scenario = Scenario.load(path)
    yield
    _run([str(path)], directory)
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
    read_minitopo(*files)
    yield
    _run(["-t", str(files[0]), "-x", str(files[1])], directory)


def _run(files: list[str], directory: Path) -> None:
    """Run a small version by `minitopo-dc run` on the virtual clock; errors of runs are raised."""
    errors: list[Exception] = []

    def small(scenario: Scenario, place: Path) -> RunResult:
        try:
            result = run_checked(_smaller(scenario), place)
        except Exception as error:
            errors.append(error)
            raise
        if result.status != "ok" and not result.reason:
            errors.append(AssertionError(f"{result.status} without a reason"))
        return result

    words = ["run", *files, "--clock", "virtual", "--output", str(directory / "out"), "--json"]
    with mock.patch.object(clocks, "run_checked", small):
        _main(words)
    for error in errors:
        raise error


def _smaller(scenario: Scenario) -> Scenario:
    """Return the same scenario with few bytes, in little time."""
    flows = [
        flow.model_copy(update={"workload": flow.workload and _reduced(flow.workload)})
        for flow in scenario.flows
    ]
    update = {
        "workload": _reduced(scenario.workload),
        "flows": tuple(flows),
        "timeout_s": min(scenario.timeout_s, MIN_S),
    }
    return scenario.model_copy(update=update)


def _reduced(workload: Workload) -> Workload:
    if isinstance(workload, Download):
        return Download(size_mb=min(workload.size_mb, MIN_MB))
    if isinstance(workload, RequestResponse):
        return RequestResponse(
            request_bytes=min(workload.request_bytes, MIN_BYTES),
            response_bytes=min(workload.response_bytes, MIN_BYTES),
            count=min(workload.requests, MIN_REQUESTS),
            interval_s=min(workload.interval_s, MIN_S / MIN_REQUESTS),
            patience_s=min(workload.patience_s, MIN_S),
        )
    return workload


def _element(rng: Random, directory: Path) -> Iterator[None]:
    path = _element_file(rng, directory)
    settings = ElementSettings.load(path)
    yield
    try:
        _build(settings)
    except (SettingsError, TraceError, PolicyError) as error:
        raise SettingsError(f"{path}: {error}") from None  # as the element does


def _element_process(rng: Random, directory: Path) -> Iterator[None]:
    """Start an element in an empty network namespace, or only read its settings without one."""
    if not _alone():
        yield from _element(rng, directory)
        return
    path = _element_file(rng, directory)
    with contextlib.suppress(InputError):
        if not ElementSettings.load(path).directory.resolve().is_relative_to(directory.resolve()):
            yield  # it may write there, and that is somebody else's
            return
    command = (*_alone(), sys.executable, "-P", "-m", "minitopo_dc.real.element", str(path))
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,  # its end ends an element that is ready
        capture_output=True,
        text=True,
        errors="replace",
        timeout=PROCESS_S,
        check=False,
    )
    if "Traceback" in done.stderr or done.returncode not in (0, 1, 2):
        raise RuntimeError(f"exit status {done.returncode}: {done.stderr[-300:]}")
    if done.returncode == 2:
        raise SettingsError(done.stderr)
    yield
    if done.returncode == 1 and not done.stderr.strip():
        raise RuntimeError("it failed without a word")


@cache
def _alone() -> tuple[str, ...]:
    """Return the words that begin a command in an empty network namespace, none if forbidden."""
    words = ("unshare", "--map-root-user", "--net", "--kill-child")
    if shutil.which(words[0]) is None:
        return ()
    tried = subprocess.run([*words, "true"], capture_output=True, check=False)
    return () if tried.returncode else words


def _element_file(rng: Random, directory: Path) -> Path:
    made = rng.choice((gnb_settings, ue_settings))
    settings = made(
        resolve_scenario(Scenario.check(rng.choice(SCENARIOS), "base")).scenario, directory
    )
    document = settings.model_dump(mode="json", exclude_defaults=True)
    return written(rng, document, directory / "element.yaml", KNOWN)


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
    (directory / "CAMPAIGN.py").write_text(campaign_text())
    words = rng.choice(OPTIONS).split()
    place = rng.choice([n for n, word in enumerate(words) if n > 1 and not word.startswith("--")])
    value = near_text(rng, words[place])
    if rng.random() < GARBLED:
        place = rng.randrange(2, len(words))
        value = str(rng.choice([each for each in HOSTILE if each not in NO_ARGUMENTS]))
    words[place] = value.translate({0: None, 0xD800: None})
    words = [_placed(word, directory) for word in words]
    parsed = entry.parser().parse_args(words)
    yield
    if words[0] != "compare":
        entry.command(parsed.command).execute(parsed)
        return
    # What `compare` does before it runs anything.
    base = options.base_scenario(parsed).model_copy(update={"clock": "virtual"})
    chosen_jobs(parsed.jobs, "virtual")
    for row in options.rows(parsed, "virtual", base.workload):
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
    "element-process": _element_process,
    "options": _options,
}
