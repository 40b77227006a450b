"""Render Minitopo parameter files from templates (`minitopo-dc template`)."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rich.console import Console

from minitopo_dc.fields import SettingsError
from minitopo_dc.minitopo.render import render, templates

HELP = "render Minitopo topology and experiment files from templates"


def add(parser: argparse.ArgumentParser) -> None:
    """Add the actions and their options."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    actions.add_parser("list", help="list the templates and their parameters")
    rendering = actions.add_parser("render", help="render a template and check the file")
    rendering.add_argument(
        "name",
        metavar="NAME",
        help="a name of minitopo-dc template list, or the path of a template of your own",
    )
    rendering.add_argument(
        "values",
        nargs="*",
        metavar="KEY=VALUE",
        help="parameters, as minitopo-dc template list has",
    )
    rendering.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="output file (default: stdout)"
    )


def execute(arguments: argparse.Namespace) -> int:
    """Do the action; raise SettingsError when something is wrong with the input."""
    if arguments.action == "list":
        from minitopo_dc.results.tables.sheet import Head, Sheet  # noqa: PLC0415 (pandas: slow)

        for template in templates():
            heads = [Head("parameter", text=True), Head("meaning", text=True)]
            sheet = Sheet(heads, title=f"{template.name}: {template.about}")
            for parameter in template.parameters:
                sheet.add(f"{parameter.name}={parameter.default}", parameter.about)
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
