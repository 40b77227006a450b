"""Malformed input of every kind.

Each input is one that is right (`examples` has them), changed at random places. What
accepts it goes on as cheaply as it can. An input comes to one of

* `accepted`: it is right after all, and everything went to its end, whatever that was;
* `refused`: one of the project's errors, in a message that names the file or the option; `at load`
  when it was the file itself that was refused, and not what was then made of it;
* `unnamed`: an error whose message names neither, or is longer than `LONGEST_MESSAGE`;
* `traceback`: any other error; `hang`: no end within `LIMIT_S`; `status`: a mistake
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
from typing import NamedTuple

from benchmarks.hostile import Kind, Report, given, stores
from minitopo_dc.cli import entry
from minitopo_dc.errors import InputError
from minitopo_dc.pdcp import PolicyError

LIMIT_S = 120
"""Of real time, which a busy machine gives to others, too."""
LONGEST_MESSAGE = 5_000
"""Characters of a refusal, over all its lines."""
REFUSALS = (InputError, PolicyError)
FAULTS = ("unnamed", "traceback", "hang", "status")
OUTCOMES = ("accepted", "refused", *FAULTS)
KINDS: dict[str, Kind] = {**given.KINDS, **stores.KINDS}


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
        return _judged(entry.printable(str(error)), kind, directory)._replace(is_loaded=is_loaded)
    except SystemExit as ended:
        message = caught.getvalue()
        if ended.code not in (0, 2):
            return Case("status", f"{ended.code}: {message[:200]!a}")
        case = Case("accepted", "") if ended.code == 0 else _judged(message, kind, directory)
        return case._replace(is_loaded=is_loaded)
    except HangError:
        return Case("hang", f"more than {LIMIT_S} s")
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(place.filename).name}:{place.lineno}"
        return Case("traceback", f"{type(error).__name__} in {where}: {str(error)[:80]!a}")
    return Case("accepted", "")


def _judged(message: str, kind: str, directory: Path) -> Case:
    is_named = kind == "options" or any(path.name in message for path in directory.iterdir())
    if not message.strip() or len(message) > LONGEST_MESSAGE or not is_named:
        return Case("unnamed", ascii(message[:200]))
    return Case("refused", message)


@contextlib.contextmanager
def _limit() -> Iterator[None]:
    """Raise HangError when the block has taken too long."""

    def end(*_: object) -> None:
        raise HangError

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(LIMIT_S)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def run(count: int, seed: int, kinds: Sequence[str]) -> Report:
    """Try `count` inputs, over all kinds; the first of each kind has this seed."""
    counts: dict[str, Counter[str]] = {kind: Counter() for kind in kinds}
    faults: dict[str, int] = {}
    for number in range(seed, seed + max(1, count // len(kinds))):
        for kind in kinds:
            with tempfile.TemporaryDirectory(prefix="minitopo-dc-fuzz-") as name:
                case = attempt(kind, number, Path(name))
            counts[kind][case.outcome] += 1
            counts[kind]["at load"] += case.outcome == "refused" and not case.is_loaded
            if case.outcome in FAULTS:
                words = case.words.replace(name, "DIR")
                faults.setdefault(f"{kind}: {case.outcome}: {words}", number)
    rows = [
        {
            "kind": kind,
            **{name: counted[name] for name in OUTCOMES},
            "refused at load": counted["at load"],
        }
        for kind, counted in counts.items()
    ]
    return rows, [f"--seed {number}: {words}" for words, number in faults.items()]
