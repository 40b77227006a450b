"""Change the cores in one place at a time, and tell which of these mutants no test notices.

    .venv/bin/python scripts/mutants.py [--share 0.01] [--seed 1] [FILE ...]

mutmut makes the mutants of the files that `[tool.mutmut]` of pyproject.toml names, but for texts.
One is killed if a test of its file's folder or of the native core fails, or takes several times
its processor time. What survives needs a test, or its reason in tests/mutants.yaml.
"""

from __future__ import annotations

import argparse
import ctypes
import hashlib
import os
import re
import resource
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from importlib.util import cache_from_source
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import Any

import hypothesis
import libcst as cst
import pandas  # noqa: F401 (once for all forked processes, as the following two)
import pydantic  # noqa: F401
import pytest
import scipy.stats  # noqa: F401
import yaml
from mutmut.mutation.file_mutation import create_mutations
from mutmut.utils.file_utils import walk_mutatable_files

from minitopo_dc.cli.screen import progress
from minitopo_dc.interruption import interruptible

EQUIVALENT = Path("tests", "mutants.yaml")
COPIED = ("minitopo_dc", "tests")
ARGUMENTS = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-m", "not (root or long)"]
ARGUMENTS += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # of what is imported here
ALONE = {"statistics.py": "project/test_statistics.py", "results": "results/test_judge.py"}
STRICT = re.compile(r",? ?strict=\w+|, (?=\))")
FORK = get_context("fork")
PR_SET_PDEATHSIG = 1  # <linux/prctl.h>


def main() -> int:
    """Print the mutants that survive; return the exit status, 1 if one is not in the list."""
    parser = argparse.ArgumentParser(description="change the cores, and tell what tests miss")
    parser.add_argument("files", nargs="*", type=Path, help="default: all of the cores")
    parser.add_argument("--share", type=float, default=0.007, help="of their mutants, 0 to 1")
    parser.add_argument("--seed", default="1", help="of the sample")
    options = parser.parse_args()
    files = options.files or sorted(walk_mutatable_files(), key=os.path.getsize, reverse=True)
    pool = ProcessPoolExecutor(mp_context=FORK, initializer=leave_signals)
    with tempfile.TemporaryDirectory() as scratch, pool:
        parts = list({part for path in files for part in tests_of(path)})
        limits = dict(
            results(pool, "tests without mutants", partial(processor_time, scratch), parts)
        )
        task = partial(survivors, scratch, limits, options.share, options.seed)
        counted = [pair for _, pair in results(pool, "files", task, files)]
    numbers = [sum(numbers) for numbers in zip(*counted, strict=True)]
    print("{} mutants, {} survived without a reason in".format(*numbers), EQUIVALENT)  # noqa: T201
    return bool(numbers[1])


def leave_signals() -> None:
    """Let this process end by its parent alone, and with it, not by Ctrl-C in their terminal."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def results(
    pool: ProcessPoolExecutor, words: str, task: Callable[[Any], Any], items: Sequence[Any]
) -> Iterator[tuple[Any, Any]]:
    """Yield items with what a task makes of them, as they end; Ctrl-C ends all at once."""
    waiting = {pool.submit(task, item): item for item in items}
    try:
        done = as_completed(waiting)
        for _ in progress(items, lambda _: words):
            future = next(done)
            yield waiting[future], future.result()
    except KeyboardInterrupt:
        for process in active_children():
            process.kill()
        raise


def tests_of(path: Path) -> list[str]:
    """Return the tests of a file, a part after the other: those of its folder come first."""
    folder, *inner = path.relative_to("minitopo_dc").parts
    if folder in ALONE:
        return [f"tests/{ALONE[folder]}"]
    own = "/".join(["tests", folder, *inner[:-1]])
    beside = [f"tests/{folder}", "tests/native"]
    if folder == "router":
        beside += ["tests/real/element", "tests/virtual/test_drivers.py"]
    return [own, *beside] if inner[1:] else beside


def processor_time(scratch: str, tests: str) -> int:
    """Return the limit (s) of tests, which have to pass; several times what they take."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    if not passes(copied(scratch), tests, limit_s=3600):
        sys.exit(f"{tests}: fails without any mutant")
    return 20 + 5 * round(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before)


def copied(scratch: str) -> Path:
    """Return this process's copy of the checkout, made the first time."""
    copy = Path(scratch, str(os.getpid()))
    if not copy.exists():
        for name in COPIED:
            shutil.copytree(name, copy / name, symlinks=True)
        for path in Path.cwd().iterdir():
            if path.name not in COPIED:
                (copy / path.name).symlink_to(path)
    return copy


def survivors(
    scratch: str, limits: dict[str, int], share: float, seed: str, path: Path
) -> tuple[int, int]:
    """Return how many mutants of a file were tried and survived; print the latter."""
    source, changed = path.read_text("utf-8"), copied(scratch) / path
    equivalent = yaml.safe_load(EQUIVALENT.read_text("utf-8")).get(str(path), {})
    tried = survived = 0
    for name, mutant in mutants(path, source, share, seed):
        Path(cache_from_source(str(changed))).unlink(missing_ok=True)
        changed.write_text(mutant, "utf-8")
        tried += 1
        if all(passes(copied(scratch), part, limits[part]) for part in tests_of(path)):
            survived += name not in equivalent
            print(f"{path}: {equivalent.get(name, 'survived')}: {name}", flush=True)  # noqa: T201
    changed.write_text(source, "utf-8")
    return tried, survived


def mutants(path: Path, source: str, share: float, seed: str) -> Iterator[tuple[str, str]]:
    """Yield the name and the source of a sample of a file's mutants, the same for a seed."""
    module, mutations, *_ = create_mutations(str(path), source)
    for number, mutation in enumerate(mutations):
        function = mutation.contained_by_top_level_function
        drawn = hashlib.sha256(f"{seed} {path} {number}".encode()).digest()
        if not isinstance(function, cst.FunctionDef) or int.from_bytes(drawn[:4]) >= share * 2**32:
            continue
        mutant = module.deep_replace(mutation.original_node, mutation.mutated_node).code
        before, after = difference(source, mutant)
        # The `strict` of a zip is the code's own assertion.
        is_checked = STRICT.sub("", before) == STRICT.sub("", after)
        if not is_checked and not isinstance(mutation.original_node, cst.BaseString):
            yield f"{function.name.value}: {before} -> {after}", mutant


def difference(source: str, mutant: str) -> tuple[str, str]:
    """Return the lines that differ, of either, without their indentation."""
    sides = [text.splitlines() for text in (source, mutant)]
    for _ in range(2):  # those in common at the begin, then those at the end
        same = len(os.path.commonprefix(sides))  # noqa: RUF071 (it takes any sequences)
        sides = [lines[same:][::-1] for lines in sides]
    before, after = (" ".join(line.strip() for line in lines) for lines in sides)
    return before, after


def passes(directory: Path, tests: str, limit_s: int) -> bool:
    """Return whether tests pass in a copy of the checkout, within a processor time."""
    process = FORK.Process(target=run, args=(directory, tests, limit_s))
    process.start()
    process.join(20 * limit_s)  # who waits for ever takes no processor time
    process.kill()
    process.join()
    return process.exitcode == 0


def run(directory: Path, tests: str, limit_s: int) -> None:
    """Run tests in this process, which ends with their status.

    What this script has imported of the package is no mutant, so it is imported anew.
    """
    leave_signals()
    for name in [name for name in sys.modules if name.partition(".")[0] == "minitopo_dc"]:
        del sys.modules[name]
    resource.setrlimit(resource.RLIMIT_CPU, (limit_s, limit_s + 5))
    os.chdir(directory)
    shutil.rmtree(".hypothesis", ignore_errors=True)
    sys.path.insert(0, str(directory))
    sys.dont_write_bytecode = True
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    # The same examples for all; who fails need not be made simple.
    phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
    hypothesis.settings.register_profile(
        "mutants", deadline=None, max_examples=25, derandomize=True, database=None, phases=phases
    )
    os._exit(pytest.main([*ARGUMENTS, "--hypothesis-profile=mutants", tests]))


if __name__ == "__main__":
    with interruptible("what survived so far is above"):
        sys.exit(main())
