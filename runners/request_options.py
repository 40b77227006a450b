"""The plan of a client's requests as options of its command line, written and read."""

from __future__ import annotations

import argparse

from minitopo_dc.runners.requests import RequestPlan

_OPTIONS = {
    "requests": ("count", int, "number of requests"),
    "request-bytes": ("request_bytes", int, "of each request's body"),
    "response-bytes": ("response_bytes", int, "of each answer's body"),
    "interval": ("interval_s", float, "s from one request to the next"),
    "patience": ("patience_s", float, "s after the last request in which answers may come"),
}


def request_arguments(plan: RequestPlan) -> list[str]:
    """The arguments that give a client this plan."""
    given = ((option, getattr(plan, name)) for option, (name, _, _) in _OPTIONS.items())
    return [word for option, value in given for word in (f"--{option}", str(value))]


def add_request_options(parser: argparse.ArgumentParser, *, required: bool) -> None:
    """Let a command line hold a plan, or require it to."""
    group = parser.add_argument_group("requests")
    for option, (_, kind, help_text) in _OPTIONS.items():
        group.add_argument(f"--{option}", type=kind, required=required, help=help_text)


def request_plan(
    parser: argparse.ArgumentParser, options: argparse.Namespace
) -> RequestPlan | None:
    """The plan on a command line; None where there is none. A wrong one ends the program."""
    values = {
        name: getattr(options, option.replace("-", "_"))
        for option, (name, _, _) in _OPTIONS.items()
    }
    missing = [option for option, (name, _, _) in _OPTIONS.items() if values[name] is None]
    if len(missing) == len(_OPTIONS):
        return None
    if missing:
        parser.error(f"requests also need --{', --'.join(missing)}")
    try:
        return RequestPlan(**values)
    except ValueError as error:
        parser.error(str(error))
