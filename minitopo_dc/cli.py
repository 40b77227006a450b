"""The command `minitopo-dc`."""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import traceback
from collections.abc import Collection
from importlib import import_module
from types import FrameType, ModuleType
from typing import NoReturn

from minitopo_dc import __version__
from minitopo_dc.plugins import PluginError
from minitopo_dc.settings import SettingsError
from minitopo_dc.settings.base import quoted
from minitopo_dc.trace import TraceError

COMMANDS = (
    *("compare", "run", "exec", "shell", "campaign", "calibrate", "trace", "template", "minitopo"),
    *("build", "check", "clean"),
)
"""Each is a module of `minitopo_dc.commands`."""
INTERRUPTED = 130
"""Exit status after Ctrl-C: 128 plus the signal's number, as shells report it."""


LONGEST_LINE = 1_000
"""Characters of a line of an error."""
UNEXPECTED = "unexpected"
"""How the line for an error that nobody foresaw begins."""


def main(arguments: list[str] | None = None) -> int:
    """Run a subcommand; return 0 when done, 1 when a run failed, 2 for a mistake in the input."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    try:
        arguments = sys.argv[1:] if arguments is None else arguments
        parsed = parser(_needed(arguments)).parse_args(arguments)
        return int(command(parsed.command).execute(parsed))
    except KeyboardInterrupt:
        print("minitopo-dc: interrupted; what the run had made is removed", file=sys.stderr)  # noqa: T201
        return INTERRUPTED
    except Exception as error:
        if _is_mistake(error):
            print(f"minitopo-dc: {told(str(error))}", file=sys.stderr)  # noqa: T201
            return 2
        print(f"minitopo-dc: {unexpected(error)}", file=sys.stderr)  # noqa: T201
        return 1


def command(name: str) -> ModuleType:
    """The module of a command; what it imports (pandas, Matplotlib) may take a second."""
    return import_module(f"minitopo_dc.commands.{name}")


def _needed(arguments: list[str]) -> Collection[str]:
    """The commands whose options are to be known: the one that is given, all for `--help`."""
    return [name for name in arguments[:1] if name in COMMANDS] or COMMANDS


def _is_mistake(error: Exception) -> bool:
    """Whether the input is to blame, and the error's message says how."""
    from minitopo_dc.analysis.errors import ResultError  # noqa: PLC0415
    from minitopo_dc.campaign.store import StoreError  # noqa: PLC0415

    mistakes = (SettingsError, TraceError, ResultError, StoreError, PluginError)
    return isinstance(error, mistakes)


def told(message: str) -> str:
    """A message as it is shown: what cannot be printed is escaped, a line that is long is cut."""
    lines = (line if line.isprintable() else ascii(line)[1:-1] for line in message.splitlines())
    return "\n".join(
        f"{line[:LONGEST_LINE]}..." if len(line) > LONGEST_LINE else line for line in lines
    )


class Parser(argparse.ArgumentParser):
    """Argparse's, which quotes a wrong value whole."""

    def error(self, message: str) -> NoReturn:
        """End with status 2."""
        super().error(told(message))


def unexpected(error: Exception) -> str:
    """The last line of defence: one line for an error that nobody foresaw; its traceback is kept.

    It is a mistake of this program's, whatever it was given.
    """
    words = quoted(" ".join(str(error).split()))
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="minitopo-dc-", suffix=".traceback", delete=False, encoding="utf-8"
        ) as kept:
            kept.write("".join(traceback.format_exception(error)))
        where = f"its traceback is in {kept.name}"
    except OSError:
        where = "its traceback could not be written"
    return f"{UNEXPECTED} {type(error).__name__}: {words}; {where}; please report it"


def parser(names: Collection[str] = COMMANDS) -> argparse.ArgumentParser:
    """The command line's, with the options of these commands."""
    made = Parser(prog="minitopo-dc", description=__doc__)
    made.add_argument("--version", action="version", version=__version__)
    commands = made.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name in names:
        module = command(name)
        module.add(commands.add_parser(name, help=module.HELP, description=module.__doc__))
    return made


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    """SIGTERM and SIGHUP clean up like Ctrl-C."""
    raise KeyboardInterrupt


if __name__ == "__main__":
    raise SystemExit(main())
