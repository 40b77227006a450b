"""Run in your own Minitopo checkout, or render its files (`minitopo-dc minitopo`, `template`)."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict

from rich.console import Console

from minitopo_dc.cli.screen import new_directory, note
from minitopo_dc.clocks import require_real
from minitopo_dc.fields import SettingsError
from minitopo_dc.results.run_result import exit_status

PING_LOG = "ping.log"
"""Minitopo's name of the log of its pings."""


def execute(arguments: argparse.Namespace) -> int:
    """Return 0 when nothing failed, 1 when something did, 3 when nothing can run here."""
    if arguments.command == "template":
        return _template(arguments)
    require_real("minitopo")
    # Imported here, as the rest of the command line must work without Mininet.
    from minitopo_dc.minitopo.plugin import CheckoutRun  # noqa: PLC0415
    from minitopo_dc.runs.perform import RunFailedError  # noqa: PLC0415

    files = (arguments.topo_param_file, arguments.experiment_param_file)
    plugin = CheckoutRun(arguments.minitopo, *files, ip_version=arguments.ip)
    for line in plugin.notes:
        note(line)
    directory = new_directory(arguments.output, "minitopo")
    try:
        result = plugin.run(directory)
    except RunFailedError as error:
        note(str(error))
        return 1
    if result is None:
        log = directory / PING_LOG
        text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
        for line in text.splitlines():
            if line.startswith(("PING ", "rtt ")) or "packets transmitted" in line:
                print(line)  # noqa: T201
        print(f"Files: {directory}")  # noqa: T201
    else:
        print(json.dumps(asdict(result), indent=1))  # noqa: T201
    return 0 if result is None else exit_status([result.status])


def _template(arguments: argparse.Namespace) -> int:
    """List the templates, or render one; SettingsError when something is wrong with the input."""
    from minitopo_dc.minitopo.render import render, templates  # noqa: PLC0415 (Jinja2 is slow)

    if arguments.action == "list":
        from minitopo_dc.results.tables.sheet import Head, Sheet  # noqa: PLC0415 (pandas: slow)

        for template in templates():
            heads = [Head("parameter", text=True), Head("meaning", text=True)]
            sheet = Sheet(heads, title=f"{template.name}: {template.about}")
            for parameter in template.parameters:
                sheet.add(f"{parameter['name']}={parameter['default']}", parameter["about"])
            Console().print(sheet, "")
        return 0
    text = render(arguments.name, arguments.values)
    if arguments.output is None:
        sys.stdout.write(text)
        return 0
    try:
        arguments.output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise SettingsError(f"{arguments.output}: {error.strerror}") from None
    return 0
