"""The command line: the entry point, a module a command, and the options that they share."""

from __future__ import annotations

from minitopo_dc.interruption import Interruption, raise_if_interrupted, say_interrupted


def main(arguments: list[str] | None = None) -> int:
    """Run a subcommand and return its exit status.

    Args:
        arguments: the words of the command line; None: those of this process, which then ends.

    Returns:
        0 when done, 1 when a run failed, 2 for a mistake in the input, 3 when each run is
        unsupported here; 128 plus the number of the signal that interrupted it.
    """
    with Interruption(ends_process=arguments is None) as interruption:
        # Imported here: it takes a second, in which a signal must not print a traceback either.
        from minitopo_dc.cli.entry import run_command  # noqa: PLC0415

        try:
            status = run_command(arguments, interruption.working)
            raise_if_interrupted()
            interruption.done()
            return status
        except KeyboardInterrupt as interrupted:
            if not isinstance(interrupted, SystemExit):  # else a campaign has said it
                say_interrupted(str(interrupted))
            return interruption.status
