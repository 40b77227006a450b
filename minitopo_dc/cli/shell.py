"""Open a shell on the client's or the server's host, over the legs (`minitopo-dc shell`)."""

from __future__ import annotations

import argparse
import os
from pwd import getpwnam

from minitopo_dc.cli.exec import program_user, run_user_program
from minitopo_dc.fields import SettingsError

FALLBACK = "/bin/sh"
"""The shell of a user whose environment names none (POSIX, `SHELL`)."""


def execute(arguments: argparse.Namespace) -> int:
    """Open the shell on the chosen host, and return its exit status."""
    if arguments.clock == "virtual":
        raise SettingsError("--clock: virtual; a shell needs the real clock; exec has both")
    user = program_user(arguments)
    mine = os.environ.get("SHELL") if user == "root" else getpwnam(user).pw_shell
    shell = mine or FALLBACK
    other = "MINITOPO_DC_SERVER" if arguments.host == "client" else "MINITOPO_DC_CLIENT"
    banner = f"{shell} on the {arguments.host}'s host; the other end is ${other}; exit ends it"
    return run_user_program(arguments, (shell,), banner)
