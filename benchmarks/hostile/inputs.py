"""Malformed input of every kind.

Each input is one that is right (the modules of `kinds` have them), changed at random places. What
accepts it goes on as cheaply as it can. An input comes to one of

* `accepted`: it is right after all, and everything went to its end, whatever that was;
* `refused`: one of the project's errors, in a message that names the file or the option; `at load`
  when it was the file itself that was refused, and not what was then made of it;
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
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from benchmarks.hostile import stores
from benchmarks.hostile.kinds import Kind, given, recorded
from benchmarks.hostile.report import Report
from minitopo_dc.cli import entry
from minitopo_dc.errors import InputError
from minitopo_dc.pdcp import PolicyError

LIMIT_S = 20
"""Of CPU time."""
WAIT_LIMIT_S = 300
"""Of real time, which a busy machine gives to others."""
LONGEST_MESSAGE = 5_000
"""Characters of a refusal, over all its lines."""
REFUSALS = (InputError, PolicyError)
FAULTS = ("unnamed", "traceback", "hang", "status")
OUTCOMES = ("accepted", "refused", *FAULTS)
KINDS: dict[str, Kind] = {
    **given.KINDS,
    "store": stores.read_hostile,
    **recorded.KINDS,
}


class HangError(BaseException):
    """Error: the code does not end; it is no Exception, so that no handler of errors takes it."""


class Case(NamedTuple):
    """The outcome of an input, and why."""

    outcome: str
    words: str
    is_loaded: bool = True
    """Whether the file was read, and something else refused, if anything did."""


def attempt(kind: str, seed: int, directory: Path) -> Case:
    """Make one malformed input of a kind, and give it to what reads that kind.

    Args:
        kind: of `KINDS`.
        seed: fixes the input.
        directory: empty, for the input and for what is made of it.
    """
    rng = Random(f"{kind} {seed}")
    caught = io.StringIO()
    steps = KINDS[kind](rng, directory)
    is_loaded = False
    try:
        with (
            _limit(),
            contextlib.chdir(directory),  # a hostile name of an output is a file there
            contextlib.redirect_stderr(caught),
            contextlib.redirect_stdout(caught),
        ):
            for _ in steps:
                is_loaded = True
    except REFUSALS as error:
        return _judged(entry.told(str(error)), kind, directory)._replace(is_loaded=is_loaded)
    except SystemExit as ended:
        told = caught.getvalue()
        if ended.code not in (0, 2):
            return Case("status", f"{ended.code}: {told[:200]!a}")
        found = Case("accepted", "") if ended.code == 0 else _judged(told, kind, directory)
        return found._replace(is_loaded=is_loaded)
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
    """Raise HangError when the block has worked for too long, or has waited for far too long."""

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


def run(count: int, seed: int, kinds: Sequence[str]) -> Report:
    """Try `count` inputs, over all kinds; the first of each kind has this seed."""
    found: dict[str, Counter[str]] = {kind: Counter() for kind in kinds}
    faults: dict[str, int] = {}
    for each in range(seed, seed + max(1, count // len(kinds))):
        for kind in kinds:
            with tempfile.TemporaryDirectory(prefix="minitopo-dc-fuzz-") as name:
                case = attempt(kind, each, Path(name))
            found[kind][case.outcome] += 1
            found[kind]["at load"] += case.outcome == "refused" and not case.is_loaded
            if case.outcome in FAULTS:
                words = case.words.replace(name, "DIR")
                faults.setdefault(f"{kind}: {case.outcome}: {words}", each)
    rows = [_row(kind, found[kind]) for kind in kinds]
    return Report(rows, [f"--seed {each}: {words}" for words, each in faults.items()])


def _row(kind: str, counts: Counter[str]) -> dict[str, Any]:
    tried = sum(counts[name] for name in OUTCOMES)
    return {
        "kind": kind,
        **{name: counts[name] for name in OUTCOMES},
        "refused at load": f"{counts['at load'] / tried:.0%}",
        "went on": f"{1 - counts['at load'] / tried:.0%}",
        "to its end": f"{counts['accepted'] / tried:.0%}",
    }
