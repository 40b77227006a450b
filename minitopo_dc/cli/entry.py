"""Entry to every subcommand of `minitopo-dc`, and the messages for errors."""

from __future__ import annotations

import argparse
import gc
import io
import logging
import os
import re
import select
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, NoReturn

from minitopo_dc import __version__
from minitopo_dc.cli.commands import COMMANDS
from minitopo_dc.cli.options import add_options
from minitopo_dc.errors import InputError, did_you_mean
from minitopo_dc.interruption import raise_if_interrupted

# ruff: noqa: PLC0415 (a line is parsed before pydantic and what else takes time is imported)
NOT_FOR_ALL = 0o002
"""Bits of the umask: what is made as root must not be changed by everybody, whatever the user's
umask."""
LONGEST_LINE = 1_000
"""The most characters of a line of an error."""
NUMBERS = {"whole": "no whole number in digits", "real": "no number in digits"}
"""What argparse is to say of a text that is none, by the function that reads it."""
MODULES = {"clean": "build", "shell": "exec", "template": "minitopo"}
"""The module of a command where it has another name."""
MANY_OBJECTS = 100_000
"""New objects after which garbage is looked for; Python's 700 cost a short command a tenth."""
UNEXPECTED = "unexpected"
"""The beginning of the line for an error that nobody foresaw."""


def run_command(arguments: list[str] | None, begin: Callable[[], None]) -> int:
    """Run a subcommand; return 0 when done, 1 when a run failed, 2 for a mistake in the input.

    `begin` is called when all is imported: extension modules may swallow a KeyboardInterrupt.
    """
    begun = time.monotonic()
    if is_own := arguments is None:
        gc.disable()  # until all is imported, of which nothing is ever garbage
        os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # it reads all packages' files
    os.umask(os.umask(0) | NOT_FOR_ALL)
    warnings.formatwarning = _warning_line
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # what a terminal cannot show ends no command
            stream.reconfigure(errors="replace")
    try:
        arguments = sys.argv[1:] if arguments is None else arguments
        parsed, unknown = parser().parse_known_args(arguments)
        if unknown:
            refuse(parsed, unknown)
        parsed.typed, parsed.begun = tuple(arguments), begun
        # Where a home takes no files it makes a place for its own, and warns of that.
        logging.getLogger("matplotlib").setLevel(logging.ERROR)
        module = import_module(f"minitopo_dc.cli.{MODULES.get(parsed.command, parsed.command)}")
        if is_own:
            gc.freeze()
            gc.set_threshold(MANY_OBJECTS)
            gc.enable()
        begin()
        status = int(module.execute(parsed))
        sys.stdout.flush()
        return status
    except Exception as error:
        if isinstance(error, BrokenPipeError) and _reader_has_gone():
            return 128 + signal.SIGPIPE
        if isinstance(error, InputError):
            print(f"minitopo-dc: {printable(str(error))}", file=sys.stderr)  # noqa: T201
            return 2
        raise_if_interrupted()
        from minitopo_dc.files import shortage

        words = shortage(error) or unexpected(error)
        print(f"minitopo-dc: {words}", file=sys.stderr)  # noqa: T201
        _drop_output()
        return 1


_usual_warning = warnings.formatwarning


def _warning_line(message: Warning | str, category: type[Warning], *place: Any, **of: Any) -> str:
    """Return the text of a warning; of settings without the place in this program."""
    from minitopo_dc.fields.base import SettingsWarning

    if issubclass(category, SettingsWarning):
        return f"minitopo-dc: {printable(str(message))}\n"
    return _usual_warning(message, category, *place, **of)


def _reader_has_gone() -> bool:
    """Return whether standard output is a pipe that nobody reads, e.g. to a `head` that has ended.

    If so, nothing more is written to it, so that the interpreter reports no error when it ends.
    """
    waiting = select.poll()
    waiting.register(sys.stdout.fileno(), 0)
    gone = any(event & select.POLLERR for _, event in waiting.poll(0))
    if gone:
        _drop_output()
    return gone


def _drop_output() -> None:
    """Write nothing more to a standard output that takes nothing more, e.g. on a full disk."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def printable(message: str) -> str:
    """Return a message as it is shown: unprintable characters escaped, long lines cut."""
    lines = (line if line.isprintable() else ascii(line)[1:-1] for line in message.splitlines())
    return "\n".join(
        f"{line[:LONGEST_LINE]}..." if len(line) > LONGEST_LINE else line for line in lines
    )


class Parser(argparse.ArgumentParser):
    """An argparse parser whose mistakes are one line, as all others are."""

    def error(self, message: str) -> NoReturn:
        """Refuse the command line.

        Raises:
            InputError: always.
        """
        command = self.prog.partition(" ")[2]
        where = f"{command}: " if command else ""
        message = message.removeprefix("argument ")
        for kind, words in NUMBERS.items():
            message = message.replace(f"invalid {kind} value", words)
        raise InputError(f"{where}{message}; `{self.prog} --help` lists the options")

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        """End the process, without an error if the reader of `--help` closed the pipe."""
        try:
            sys.stdout.flush()
        except BrokenPipeError:
            _reader_has_gone()
        super().exit(status, message)


def unexpected(error: Exception) -> str:
    """Return one line for an error that nobody foresaw, whose traceback is kept in a file.

    Such an error is a mistake of this program, whatever input it was given.
    """
    from minitopo_dc.fields.base import quoted

    words = quoted(" ".join(str(error).split()))
    where, place = "its traceback could not be written", ""
    try:
        number, place = tempfile.mkstemp(prefix="minitopo-dc-", suffix=".traceback")
        with os.fdopen(number, "w", encoding="utf-8") as kept:
            kept.write("".join(traceback.format_exception(error)))
        where = f"its traceback is in {place}"
    except OSError:
        if place:
            os.unlink(place)  # noqa: PTH108
    return f"{UNEXPECTED} {type(error).__name__}: {words}; {where}; please report it"


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line, with the options of all commands."""
    made = Parser(prog="minitopo-dc", description="The command `minitopo-dc`.")
    made.add_argument("--version", action="version", version=__version__)
    below = {"": made.add_subparsers(dest="command", required=True, metavar="COMMAND")}
    for name, text in COMMANDS.items():
        first, _, rest = text.partition("\n")
        more = "".join(line for line in rest.splitlines(keepends=True) if line[:1] not in "[ |")
        command, _, own = name.rpartition(" ")
        made_of = below[command].add_parser(
            own, help=first, description=f"{first[:1].upper()}{first[1:]}.\n{more}"
        )
        add_options(made_of, rest)
        if any(other.startswith(f"{name} ") for other in COMMANDS):
            below[name] = made_of.add_subparsers(dest="action", required=True, metavar="ACTION")
    below[""].choices["exec"].usage = "minitopo-dc exec [options] -- COMMAND [ARG ...]"
    return made


MEANT = {
    **dict.fromkeys(("--rate", "--rates", "--bandwidth", "--bw", "--capacity"), "--legs"),
    **dict.fromkeys(("--rtt", "--latency"), "--delay, which is one-way"),
    **dict.fromkeys(("--cc", "--congestion"), "--congestion-control"),
    **dict.fromkeys(("--runs", "--seeds", "--repeat"), "--repetitions"),
    **dict.fromkeys(("--scheduler", "--policy"), "--split"),
    **dict.fromkeys(("--transport", "--protocol"), "--transports"),
    "--upload": "--workload upload",
    "--duration": "--workload download:duration_s=S",
}
"""Words of other tools for what has another name here."""
PROGRAM = ("exec", "shell")
"""Commands whose line goes on with a user's program."""


def refuse(parsed: argparse.Namespace, unknown: Sequence[str]) -> NoReturn:
    """Refuse words that no option takes.

    Args:
        parsed: what was understood of the command line.
        unknown: what is left.

    Raises:
        InputError: always, with the option that may be meant.
    """
    command = " ".join(filter(None, (parsed.command, getattr(parsed, "action", None))))
    given = next((word for word in unknown if word.startswith("-")), unknown[0]).partition("=")[0]
    if parsed.command in PROGRAM and not given.startswith("--"):
        raise InputError(f"{command}: no option {given}; write -- before your program")
    what = "option " if given.startswith("-") else "word "
    options = [*re.findall(r"^[ |] (?:-\w )?(--[\w-]+)", COMMANDS[command], re.M), "--help"]
    meant = MEANT.get(given, "")
    hint = did_you_mean(given, options)
    if meant.partition(",")[0].partition(" ")[0] in options:
        hint = f"did you mean {meant}?"
    hint = f"{hint} " if hint else ""
    raise InputError(
        f"{command}: no {what}{given}; {hint}`minitopo-dc {command} --help` lists the options"
    )
