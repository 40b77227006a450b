"""Campaigns on the virtual clock that are killed, run out of disk, or are damaged.

Each is compared with one that nobody disturbed: when the same command has been given again, all
runs are there with the same numbers.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random

from benchmarks.hostile.dask_workers import dask_workers
from benchmarks.hostile.examples import campaign_text
from benchmarks.hostile.report import Report
from benchmarks.hostile.small_disk import enlarge, small_disk
from minitopo_dc import cli
from minitopo_dc.campaign.table import FACTS, load
from minitopo_dc.cli.entry import UNEXPECTED

PROGRAM = (sys.executable, "-m", "minitopo_dc.cli")
SEEDS = [1, 2]
"""Of each of the three cases of a campaign."""
PATIENCE_S = 600
UNFORESEEN = -1
"""In place of an exit status: it is a fault, whatever the status."""
FULL_BYTES = 150_000
"""Room for half of it, in blocks of 4 kB."""
DASK_WORKERS = 2
MAX_KILLS = 4
"""Of Dask's workers: one more than a run may lose."""
DASK_STEP_S = 2.0
"""Between two of them at most; a worker needs about as long for its first run."""
SAID = "said"
"""What a command wrote."""
Numbers = dict[str, float]
Disturb = Callable[[Path, Path, Random], list[str]]


def run(count: int, seed: int, ways: Sequence[str]) -> Report:
    """Disturb `count` campaigns in turn in each of these ways that this user can."""
    rows, faults = [], []
    with tempfile.TemporaryDirectory(prefix="minitopo-dc-hostile-") as name:
        file = Path(name) / "campaign.py"
        file.write_text(campaign_text(seeds=SEEDS))
        whole = Path(name) / "whole"
        _finish(file, whole)
        wanted = _numbers(whole)
        for way in ways:
            if way == "disk is full" and os.geteuid() != 0:
                continue  # to mount a small disk needs root
            begin = time.monotonic()
            found: list[str] = []
            for each in range(seed, seed + count):
                root = Path(name) / f"{way}-{each}"
                words = _tried(WAYS[way], file, root, Random(each), wanted)
                found += [f"{way} --seed {each}: {word}" for word in words]
            seconds = round(time.monotonic() - begin, 1)
            rows.append({"way": way, "campaigns": count, "wrong": len(found), "s": seconds})
            faults += found
    return Report(rows, faults)


def _tried(disturb: Disturb, file: Path, root: Path, rng: Random, wanted: Numbers) -> list[str]:
    """Disturb a campaign, give its command again, and say what is wrong then."""
    faults = disturb(file, root, rng)
    code = _finish(file, root)
    if code != 0:
        faults.append(f"the same command ended with {code}")
    if (numbers := _numbers(root)) != wanted:
        faults.append(f"{len(numbers)} runs, or other numbers than undisturbed")
    if damaged := _damaged(root):
        faults.append(f"{len(damaged)} damaged runs")
    return faults


def _kill_command(file: Path, root: Path, rng: Random) -> list[str]:
    """Send SIGKILL, SIGTERM or SIGINT to the command, once the campaign has its directory."""
    number = rng.choice((signal.SIGKILL, signal.SIGTERM, signal.SIGINT))
    with _begun(file, root, rng) as process:
        process.send_signal(number)
        return _ended(process, {-number if number == signal.SIGKILL else 128 + number, 0})


def _kill_worker(file: Path, root: Path, rng: Random) -> list[str]:
    """Send SIGKILL to a process that runs simulations, which must not be noticed at all."""
    with _begun(file, root, rng) as process:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        with contextlib.suppress(OSError, ProcessLookupError):
            workers = [pid for pid in children.read_text().split() if _is_worker(pid)]
            if workers:
                os.kill(int(rng.choice(workers)), signal.SIGKILL)
        return _ended(process, {0})


def _kill_dask_workers(file: Path, root: Path, rng: Random) -> list[str]:
    """Send SIGKILL to workers of a scheduler, each of which is replaced by another one.

    A run whose workers are killed too often ends it (Dask's `allowed-failures`): that is one error.
    """
    with tempfile.TemporaryDirectory(prefix="minitopo-dc-hostile-") as name:
        with dask_workers(Path(name), DASK_WORKERS) as workers:
            options = ("--dask", workers.address)
            with _begun(file, root, rng, *options, sign=FACTS, said=Path(name)) as process:
                for _ in range(rng.randint(1, MAX_KILLS)):
                    time.sleep(rng.uniform(0, DASK_STEP_S))
                    workers.kill(rng)
                    workers.add()
                faults = _ended(process, {0, 2})
        told = (Path(name) / SAID).read_text(errors="replace")
        errors = [line for line in told.splitlines() if line.startswith("minitopo-dc: ")]
    if process.returncode == 2 and len(errors) != 1:
        faults.append(f"{len(errors)} errors: {told[-500:]!r}")
    return faults + (["a traceback"] if "Traceback" in told else [])


def _is_worker(pid: str) -> bool:
    return b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()


def _damage(file: Path, root: Path, rng: Random) -> list[str]:
    """Change a file of a run, or remove it, and check that the state names it."""
    _finish(file, root)
    path = rng.choice(sorted(each for each in root.glob("runs/*/*") if each.stat().st_size))
    content = path.read_bytes()
    place = rng.randrange(len(content))
    path.unlink()
    if (way := rng.randrange(3)) < 2:
        end = content[place + 1 :] if way else b""
        path.write_bytes(content[:place] + (b"\0" if way else b"") + end)
    code, told = _command("campaign", "status", str(root), "--json")
    named = code == 1 and path.parent.name in json.loads(told)["damaged"]
    intact = path.name == "checksums.json" and way == 2  # as a store of before checksums
    return [] if named or intact else [f"{path.name} damaged, status {code}: {told}"]


def _fill_disk(file: Path, root: Path, _: Random) -> list[str]:
    """Fill a disk without room for all of it, and check that the command ends with one error."""
    with small_disk(root, str(FULL_BYTES)) as disk:
        code, told = _command("campaign", "run", str(file), "--output", str(disk / "out"))
        faults = [] if code == 2 and "the disk is full" in told else [f"status {code}: {told}"]
        enlarge(disk, "64m")
        if (code := _finish(file, disk / "out")) != 0:
            faults.append(f"with room again it ended with {code}")
        faults += [f"damaged: {run}" for run in _damaged(disk / "out")]
    return faults


WAYS: dict[str, Disturb] = {
    "command is killed": _kill_command,
    "worker is killed": _kill_worker,
    "Dask worker is killed": _kill_dask_workers,
    "file is damaged": _damage,
    "disk is full": _fill_disk,
}


@contextlib.contextmanager
def _begun(
    file: Path,
    root: Path,
    rng: Random,
    *options: str,
    sign: str = "working/*",
    said: Path | None = None,
) -> Iterator[subprocess.Popen[bytes]]:
    """Run the command in the background, from a random moment of its runs on, for a block.

    Args:
        file: the campaign's.
        root: its directory.
        rng: chooses the moment.
        options: of the command; none: two runs at once.
        sign: what is in the directory as soon as runs have begun.
        said: where to keep what it says, as `SAID`; none: nowhere.
    """
    words = ["campaign", "run", str(file), "--output", str(root), *(options or ("--jobs", "2"))]
    with Path(os.devnull if said is None else said / SAID).open("wb") as output:
        process = subprocess.Popen([*PROGRAM, *words], stdout=output, stderr=output)
    deadline = time.monotonic() + PATIENCE_S
    while not list(root.glob(sign)) and process.poll() is None:
        if time.monotonic() > deadline:
            break
        time.sleep(0.01)
    time.sleep(rng.uniform(0, 1))
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _ended(process: subprocess.Popen[bytes], allowed: set[int]) -> list[str]:
    try:
        code = process.wait(PATIENCE_S)
    except subprocess.TimeoutExpired:
        return [f"no end within {PATIENCE_S} s"]
    return [] if code in allowed else [f"exit status {code}; allowed: {sorted(allowed)}"]


def _finish(file: Path, root: Path) -> int:
    """Run what is missing, in this process."""
    return _command("campaign", "run", str(file), "--output", str(root), "--jobs", "1")[0]


def _command(*words: str) -> tuple[int, str]:
    """Return a command's exit status and output; an unforeseen error is `UNFORESEEN`."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        code = cli.main(list(words))
    told = said.getvalue()
    return (UNFORESEEN if f"minitopo-dc: {UNEXPECTED}" in told else code), told


def _numbers(root: Path) -> Numbers:
    runs = load(root)
    return dict(zip(runs["run"], runs["completion_s"], strict=True))


def _damaged(root: Path) -> list[str]:
    return list(json.loads(_command("campaign", "status", str(root), "--json")[1])["damaged"])
