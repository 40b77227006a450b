"""The base classes of this project's errors: catch one, and everything that it raises is caught.

The errors of `minitopo_dc.topologies` alone are none of these: Mininet's `mn` reads those files
where this package may be missing.
"""

from __future__ import annotations


class MinitopoDcError(Exception):
    """An error that this project raises on purpose; its message is meant for the user."""


class InputError(MinitopoDcError, ValueError):
    """A mistake in a file, an option or an argument; the message names it and says what is allowed.

    The command line prints the message and ends with status 2.
    """
