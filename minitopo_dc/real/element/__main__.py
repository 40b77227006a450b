"""Runs an element: `python -m minitopo_dc.real.element SETTINGS.yaml` in a router host's namespace.

Further arguments, `PID SETTINGS.yaml` each, are elements of other hosts in the same process, which
legs over WiFi need; PID is a process in the host's network namespace.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from minitopo_dc.errors import InputError
from minitopo_dc.fields import SettingsError
from minitopo_dc.fields.base import quoted
from minitopo_dc.pdcp import PolicyError
from minitopo_dc.real.element.loop import ElementError, RealLoop
from minitopo_dc.real.element.native import RealNativeElement, RealNativeLoop
from minitopo_dc.real.element.process import RealElement, run
from minitopo_dc.router.native import native_obstacle
from minitopo_dc.scenario.element import ElementSettings, wifi_paths
from minitopo_dc.trace import TraceError

USAGE = "usage: python -m minitopo_dc.real.element SETTINGS.yaml [PID SETTINGS.yaml ...]"


def main(arguments: list[str]) -> int:
    """Return 0 after a clean stop, 2 for a mistake in the settings, 1 when it cannot run here."""
    pids, files = arguments[1::2], arguments[::2]
    if len(arguments) % 2 == 0 or not all(pid.isdigit() for pid in pids):
        print(USAGE, file=sys.stderr)  # noqa: T201
        return 2
    try:
        with ExitStack() as stack:
            _run(stack, dict(zip(files, [None, *map(int, pids)], strict=True)))
    except (InputError, PolicyError, ElementError) as error:
        of_ones_own = not isinstance(error, (SettingsError, ElementError))  # while it runs
        print(f"{' '.join(files)}: {error}" if of_ones_own else error, file=sys.stderr)  # noqa: T201
        return 1 if isinstance(error, ElementError) else 2
    except OSError as error:
        if error.filename is None:
            raise
        print(f"{error.filename}: {error.strerror}", file=sys.stderr)  # noqa: T201
        return 1
    return 0


def _run(stack: ExitStack, hosts: Mapping[str, int | None]) -> None:
    """Run the elements of these settings' files, each with a process of its host."""
    settings = [ElementSettings.load(Path(file)) for file in hosts]
    for file, host_settings in zip(hosts, settings, strict=True):
        if not os.path.isdir(host_settings.directory):  # noqa: PTH112 (of any name)
            named = quoted(str(host_settings.directory))
            raise SettingsError(f"{file}: directory: {named}: no such directory; make it before")
    why = python_reason(settings)
    loop, paths = RealNativeLoop() if why is None else RealLoop(), wifi_paths(settings)
    kind = RealNativeElement if why is None else RealElement
    elements: list[RealElement] = []
    for host_settings, (file, host) in zip(settings, hosts.items(), strict=True):
        try:
            elements.append(kind(host_settings, loop, paths=paths, host=host))
        except (SettingsError, TraceError, PolicyError) as error:
            raise SettingsError(f"{file}: {error}") from None
        elements[-1].core_reason = why
        stack.callback(elements[-1].close)
    run(elements, loop)


def python_reason(settings: Sequence[ElementSettings]) -> str | None:
    """Return why the elements of one process run in Python, None if they are native.

    Raises:
        SettingsError: one has to be native, and cannot.
    """
    cores = {host.core for host in settings}
    if "python" in cores:
        return "the settings say so"
    why = "several hosts in one process" if len(settings) > 1 else native_obstacle(settings)
    if why is not None and "native" in cores:
        raise SettingsError(f"core: native: {why}; allowed: auto, python")
    return why


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
