"""Render Minitopo parameter files from templates (`minitopo-dc template`)."""

from __future__ import annotations

import argparse
import sys

from rich.console import Console

from minitopo_dc.fields import SettingsError
from minitopo_dc.minitopo.render import render, templates


def execute(arguments: argparse.Namespace) -> int:
    """Do the action; raise SettingsError when something is wrong with the input."""
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
