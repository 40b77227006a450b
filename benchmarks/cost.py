"""What a command, a run, a megabyte and a resumed run cost, and by how much a commit changed it.

Each is a Python program with a number of pieces. A piece costs the difference between many and few,
divided by how many more: what is imported and made once falls out. The unit is the user's CPU
instructions by `perf stat`; on a machine whose processor counts none for its guests, those that
valgrind counts with `--valgrind`, which takes 50 times as long, else CPU time: the least of the
repetitions, in which both trees take turns.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple

from minitopo_dc.cli.screen import progress
from minitopo_dc.scratch import scratch

ROOT = Path(__file__).parents[1]
Unit = Literal["instructions", "instructions in valgrind", "CPU s"]
LEGS = "legs=(dc.Leg(rate_mbps=20, delay_ms=10),) * 2"
SCENARIO = f"dc.Scenario(transport='quic-picoquic', mode='dc', clock='virtual', {LEGS}, "
RUNS = f"""
import sys
import minitopo_dc as dc
case = {SCENARIO}workload=dc.Download(size_mb=0.1)), {{"way": "dc"}}
dc.Campaign(sys.argv[1], [case], range(1, int(sys.argv[2]) + 1)).run(1, progress=False)
"""
MEGABYTES = f"""
import sys
import minitopo_dc as dc
case = {SCENARIO}workload=dc.Download(size_mb=int(sys.argv[2]))), {{"way": "dc"}}
dc.Campaign(sys.argv[1], [case], [1]).run(1, progress=False)
"""
ANSWER = """
import sys
if sys.argv[2] == "1":
    from minitopo_dc.cli import main
    sys.argv[1:] = {}
    try:
        main()
    except SystemExit as end:
        if end.code not in (0, 2):
            raise
"""
COMPARISON = """
import sys
if sys.argv[2] == "1":
    from minitopo_dc.cli import main
    ways = ["--transports", "quic-picoquic", "--modes", "dc", "--dc", "ideal", "--repetitions", "1"]
    place = ["--output", sys.argv[1]]
    sys.argv[1:] = ["compare", "--clock", "virtual", "--size", "0.01", *ways, *place]
    main()
"""

BUILT = ("native", "picoquic")
"""What the programs need that is compiled, in a checkout's `.cache`."""


class Part(NamedTuple):
    """A program, whose arguments are a directory and how many pieces it does."""

    program: str
    few: int
    many: int
    before_s: float
    """CPU time of a piece before any work on it, on two quiet cores (s)."""
    aim_s: float | None
    """CPU time that a piece is to take at the most (s); None: no aim was set."""
    is_again: bool = False
    """Whether the directory has the pieces already, each done."""


PARTS = {
    "version": Part(ANSWER.format(["--version"]), 0, 1, 1.7, 0.2),
    "help": Part(ANSWER.format(["compare", "--help"]), 0, 1, 1.5, 0.2),
    "wrong option": Part(ANSWER.format(["compare", "--wrong"]), 0, 1, 1.5, 0.2),
    "comparison of a run of 10 kB": Part(COMPARISON, 0, 1, 4.3, 1.5),
    "run of 0.1 MB": Part(RUNS, 5, 205, 0.029, 0.010),
    "megabyte": Part(MEGABYTES, 1, 41, 0.0041, None),
    "resumed run": Part(RUNS, 5, 1005, 0.0011, 0.0005, is_again=True),
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=[*PARTS])
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--against", metavar="COMMIT", help="measure this commit beside the tree")
    parser.add_argument("--valgrind", action="store_true", help="count instructions by valgrind")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Measure CPU instructions of a run and its parts, of this tree against a commit."""
    unit = _unit(options.valgrind)
    repetitions = options.repetitions if unit == "CPU s" else 1
    with scratch() as place, _trees(options.against, place) as trees:
        costs: dict[tuple[str, str], list[float]] = {}
        turns = [
            (name, tree) for name in options.parts for _ in range(repetitions) for tree in trees
        ]
        for path in trees.values():  # what it lacks is built now
            _of_all(PARTS["run of 0.1 MB"], 1, path, place / "run", "CPU s")
        for name, tree in progress(turns, lambda turn: f"{turn[0]} of {turn[1]}"):
            cost = _of_a_piece(PARTS[name], trees[tree], place / "run", unit)
            costs.setdefault((name, tree), []).append(cost)
    least = {key: min(values) for key, values in costs.items()}
    rows: dict[str, Any] = {}
    for name in options.parts:
        row: dict[str, Any] = {tree: least[name, tree] for tree in trees}
        if unit == "CPU s":
            row |= {"before": PARTS[name].before_s, "aim": PARTS[name].aim_s}
        if options.against is not None:
            row["ratio"] = round(row["tree"] / row[options.against], 3)
        rows[name] = row
    return {"unit": unit, **rows}


def _unit(by_valgrind: bool) -> Unit:
    if by_valgrind:
        return "instructions in valgrind"
    words = ["perf", "stat", "-x,", "-e", "instructions:u", "true"]
    if shutil.which("perf") is None:
        return "CPU s"
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return "instructions" if re.match(r"\d", done.stderr) else "CPU s"


@contextmanager
def _trees(commit: str | None, place: Path) -> Iterator[dict[str, Path]]:
    """Give this checkout and, beside it, one of a commit, which builds its own extensions."""
    if commit is None:
        yield {"tree": ROOT}
        return
    other, git = place / "commit", ["git", "-C", str(ROOT), "worktree"]
    subprocess.run([*git, "add", "--quiet", "--detach", str(other), commit], check=True)
    try:
        for name in BUILT:
            shutil.copytree(ROOT / ".cache" / name, other / ".cache" / name, symlinks=True)
        yield {"tree": ROOT, commit: other}
    finally:
        subprocess.run([*git, "remove", "--force", str(other)], check=True)


def _of_a_piece(part: Part, tree: Path, place: Path, unit: Unit) -> float:
    few, many = (_of_all(part, number, tree, place, unit) for number in (part.few, part.many))
    return (many - few) / (part.many - part.few)


def _of_all(part: Part, number: int, tree: Path, place: Path, unit: Unit) -> float:
    words = [sys.executable, "-c", part.program, str(place), str(number)]
    shutil.rmtree(place, ignore_errors=True)
    if part.is_again:
        _run(words, tree)
    try:
        if unit == "CPU s":
            begin = resource.getrusage(resource.RUSAGE_CHILDREN)
            _run(words, tree)
            end = resource.getrusage(resource.RUSAGE_CHILDREN)
            return end.ru_utime + end.ru_stime - begin.ru_utime - begin.ru_stime
        if unit == "instructions":
            text = _run(["perf", "stat", "-x,", "-e", "instructions:u", *words], tree)
            return float(re.findall(r"^(\d+),", text, re.MULTILINE)[-1])
        counter = ["valgrind", "--tool=cachegrind", "--cache-sim=no"]
        text = _run([*counter, "--cachegrind-out-file=/dev/null", *words], tree)
        return float(re.findall(r"I\s+refs:\s+([\d,]+)", text)[-1].replace(",", ""))
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _run(words: list[str], tree: Path) -> str:
    """Run a program on the package of a tree; return what it writes to standard error."""
    environment = {**os.environ, "PYTHONPATH": str(tree), "PYTHONHASHSEED": "0"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # each would compile what it imports anew
    done = subprocess.run(
        words, cwd=tree, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{tree}: {done.stderr[-1000:]}")
    return done.stderr
