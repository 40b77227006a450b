"""An element's process on a Mininet host, and the place of its files.

As every process of a run it carries the run's id, and the run is registered, so that `minitopo-dc
clean` finds what a killed program left (`minitopo_dc.real.machine.run_registry`).
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

if __package__:
    from minitopo_dc.topologies.radio_link import interpreter
else:  # mn reads the files of this folder outside their package
    sys.path.append(str(Path((lambda: 0).__code__.co_filename).resolve().parent))
    from radio_link import interpreter  # type: ignore[import-not-found, no-redef]

PROCESS = "minitopo_dc.real.element"
READY = b"ready"
PATIENCE_S = 30
"""For its first word, and for its end: importing takes about 1 s on one busy core."""
REGISTRY = Path("/run/minitopo-dc")
VARIABLE = "MINITOPO_DC_RUN"


class ElementProcessError(Exception):
    """Error: an element cannot start, or has ended; the message has its words."""


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


class ElementProcess:
    """An element on `node`; `host` is its name in its files."""

    def __init__(self, node: Node, settings: Mapping[str, Any], run: str) -> None:
        """Start the process; `wait_ready` has to follow."""
        self._node = node
        self._files = Path(settings["directory"]) / settings["host"]
        path = Path(f"{self._files}-element.yaml")
        path.write_text(json.dumps(settings, indent=1), encoding="utf-8")  # which is YAML
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                ["mnexec", "-a", str(node.pid), interpreter(), "-P", "-m", PROCESS, str(path)],
                env={**os.environ, VARIABLE: run},
                stdin=subprocess.PIPE,  # its end, however this program ends, is the element's
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,  # a Ctrl-C of the terminal is Mininet's
            )

    def wait_ready(self) -> None:
        """Return once packets reach the element.

        Raises:
            ElementProcessError: it has ended, or takes too long.
        """
        output = self._process.stdout
        assert output is not None
        readable, _, _ = select.select([output], (), (), PATIENCE_S)
        if not readable or output.readline().strip() != READY:
            raise ElementProcessError(self._words())

    def order(self, line: str) -> None:
        """Send an order (docs/element.md).

        Raises:
            ElementProcessError: it has ended.
        """
        orders = self._process.stdin
        assert orders is not None
        if self._process.poll() is not None:
            raise ElementProcessError(self._words())
        orders.write(f"{line}\n".encode())
        orders.flush()

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
        if self._process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.close()
            self._process.stdin = None

    def stop(self) -> str:
        """End the process in order; return what went wrong, or empty text."""
        self.begin_stop()
        try:
            self._process.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()
        if self._process.returncode:
            return self._words()
        summary = json.loads(Path(f"{self._files}-summary.json").read_text(encoding="utf-8"))
        drops = sum(count for each in summary["kernel_drops"].values() for count in each.values())
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
        end = self._process.poll()
        if end == 2:  # a mistake in its settings, which it names
            return f"{self._node.name}: {said}"
        state = "does not answer" if end is None else f"ended with {end}"
        return (
            f"{self._node.name}: its element {state}: {said or 'no words'} "
            f"({interpreter()} -m {PROCESS}; that Python needs minitopo-dc: docs/setup.md)"
        )


def _started(pid: int) -> str:
    """Return the start time of a process in clock ticks (proc(5), field 22).

    It tells a reused pid apart.
    """
    return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[19]
