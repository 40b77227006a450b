"""Run many scenarios from one file, resume them and report (`minitopo-dc campaign`)."""

from __future__ import annotations

import argparse
from pathlib import Path

from minitopo_dc.campaign.file.fields import campaign_names
from minitopo_dc.campaign.program import find_program
from minitopo_dc.campaign.table import FACTS
from minitopo_dc.commands.campaign import of_python, of_yaml

HELP = "run, resume and report many scenarios from one file"


def add(parser: argparse.ArgumentParser) -> None:
    """Add the actions `run`, `status`, `report`, `list`, and those of YAML files."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    of_python.add(actions)
    of_yaml.add(actions)


def execute(arguments: argparse.Namespace) -> int:
    """Do the action; return 1 when it tells of runs that failed or are missing."""
    if _is_python(arguments):
        return of_python.execute(arguments)
    return of_yaml.execute(arguments)


def _is_python(arguments: argparse.Namespace) -> bool:
    """Return whether a Python file's campaign is meant, not a YAML file's."""
    if arguments.action == "run":
        path = find_program(arguments.campaign)
        return path is not None and not (
            of_python.foreign_options(arguments) and arguments.campaign in campaign_names()
        )
    directories = {"status": "directory", "report": "directories"}.get(arguments.action)
    places = [] if directories is None else getattr(arguments, directories)
    places = [places] if isinstance(places, Path) else places
    return arguments.action == "list" or any((place / FACTS).exists() for place in places)
