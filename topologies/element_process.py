"""An element's process on a Mininet host, and the place of its files.

As every process of a run it carries the run's id, and the run is registered, so that `minitopo-dc
clean` finds what a killed program left (`minitopo_dc.real.run_registry`).
"""

from __future__ import annotations

import contextlib
import csv
import json
import os
import select
import shutil
import subprocess
import sys
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mininet.node import Node

HERE = Path(__file__).resolve()

PROCESS = "minitopo_dc.real.element"
READY = "ready"
PATIENCE_S = 30
"""For its first word, and for its end: importing takes about 1 s on one busy core."""
REGISTRY = Path("/run/minitopo-dc")
VARIABLE = "MINITOPO_DC_RUN"


NEEDS = "that Python needs minitopo-dc: docs/setup.md"


class TopologyError(Exception):
    """Error: a parameter is wrong, or an element's process cannot run; the message says which."""


class HostProcess:
    """A program of minitopo-dc that takes orders, a line each, and ends with them.

    Args:
        module: the program's.
        arguments: its own.
        within: words before it, of what runs it on a host.
        options: of the process.
    """

    def __init__(
        self, module: str, *arguments: str, within: tuple[str, ...] = (), **options: Any
    ) -> None:
        self.process: subprocess.Popen[bytes] = subprocess.Popen(
            [*within, interpreter(), "-P", "-m", module, *arguments],
            stdin=subprocess.PIPE,  # its end, however this program ends, is the process' end
            stdout=subprocess.PIPE,
            start_new_session=True,  # a Ctrl-C of the terminal is Mininet's, which ends us in order
            **options,
        )

    def write(self, order: str) -> None:
        """Send an order; raise BrokenPipeError when the process has ended."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{order}\n".encode())
        self.process.stdin.flush()

    def read(self) -> str | None:
        """Return its next line: empty if it has ended, None if it says nothing."""
        assert self.process.stdout is not None
        if not select.select([self.process.stdout], (), (), PATIENCE_S)[0]:
            return None
        return self.process.stdout.readline().decode().strip()

    def end(self) -> None:
        """End it in order, by the end of its orders, or else at once."""
        try:
            self.process.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()


def interpreter() -> str:
    """Return the Python that has minitopo-dc."""
    in_checkout = HERE.parents[1] / ".venv"
    installed_in = HERE.parents[5:6]  # below it: lib/python3.N/site-packages/minitopo_dc/topologies
    for environment in (in_checkout, *installed_in):
        if (environment / "pyvenv.cfg").is_file():
            return str(environment / "bin" / "python")
    return sys.executable


class Registered:
    """A run of this program, with a directory of its own until `close`."""

    def __init__(self) -> None:
        self.name = uuid.uuid4().hex[:12]
        self.directory = REGISTRY / self.name
        self._entry = REGISTRY / f"{self.name}.json"
        self.directory.mkdir(parents=True)
        owner = {"pid": os.getpid(), "started": _started(os.getpid())}
        partial = self.directory / "entry"  # half an entry has no owner: `clean` would end this run
        partial.write_text(json.dumps(owner), encoding="ascii")
        partial.replace(self._entry)

    def close(self) -> None:
        """Remove the run's directory and its entry."""
        shutil.rmtree(self.directory, ignore_errors=True)
        self._entry.unlink(missing_ok=True)


class NodeElement(HostProcess):
    """An element on `node`; `host` is its name in its files."""

    def __init__(self, node: Node, settings: Mapping[str, Any], run: str) -> None:
        """Start the process; `wait_ready` has to follow."""
        self._node = node
        self._files = Path(settings["directory"]) / settings["host"]
        path = Path(f"{self._files}-element.yaml")
        path.write_text(json.dumps(settings, indent=1), encoding="utf-8")  # which is YAML
        within = ("mnexec", "-a", str(node.pid))
        with self._log.open("wb") as log:
            super().__init__(
                PROCESS, str(path), within=within, stderr=log, env={**os.environ, VARIABLE: run}
            )

    def wait_ready(self) -> None:
        """Return once packets reach the element.

        Raises:
            TopologyError: it has ended, or takes too long.
        """
        if self.read() != READY:
            raise TopologyError(self._words())

    def order(self, line: str) -> None:
        """Send an order (docs/element.md).

        Raises:
            TopologyError: it has ended.
        """
        if self.process.poll() is not None:
            raise TopologyError(self._words())
        self.write(line)

    def counters(self) -> dict[int, dict[str, int]]:
        """Return what each leg had counted up to 0.1 s ago, by number (docs/legs.md)."""
        with Path(f"{self._files}-legs.csv").open(encoding="ascii", newline="") as series:
            rows = {int(row["leg"]): row for row in csv.DictReader(series) if all(row.values())}
        return {
            leg: {name: int(row[name]) for name in row if name not in ("time_ns", "leg")}
            for leg, row in rows.items()
        }

    def begin_stop(self) -> None:
        """Tell the process to end, by the end of its orders."""
        if self.process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self.process.stdin.close()
            self.process.stdin = None

    def stop(self) -> str:
        """End the process in order; return what went wrong, or empty text."""
        self.begin_stop()
        self.end()
        if self.process.returncode:
            return self._words()
        summary = json.loads(Path(f"{self._files}-summary.json").read_text(encoding="utf-8"))
        drops = sum(sum(queues.values()) for queues in summary["kernel_drops"].values())
        if drops:
            return (
                f"{self._node.name}: the kernel dropped {drops} packets: the machine is too slow "
                "for this rate"
            )
        return ""

    @property
    def _log(self) -> Path:
        return Path(f"{self._files}-element.log")

    def _words(self) -> str:
        """Return how it ended and what it said, without the path of its settings' file."""
        said = self._log.read_text(encoding="utf-8", errors="replace").strip()
        said = said.replace(f"{self._files}-element.yaml: ", "")
        end = self.process.poll()
        if end == 2:  # a mistake in its settings, which it names
            return f"{self._node.name}: {said}"
        state = "does not answer" if end is None else f"ended with {end}"
        return (
            f"{self._node.name}: its element {state}: {said or 'no words'} "
            f"({interpreter()} -m {PROCESS}; {NEEDS})"
        )


def _started(pid: int) -> str:
    """Return the start time of a process in clock ticks (proc(5), field 22).

    It tells a reused pid apart.
    """
    return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[19]
