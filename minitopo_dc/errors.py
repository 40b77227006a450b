"""The base classes of this project's errors: catch one, and everything that it raises is caught.

Names that may be meant belong into a message; one measure says what is similar.

The errors of `minitopo_dc.topologies` alone are none of these: Mininet's `mn` reads those files
where this package may be missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches


class MinitopoDcError(Exception):
    """An error that this project raises on purpose; its message is meant for the user."""


class InputError(MinitopoDcError, ValueError):
    """A mistake in a file, an option or an argument; the message names it and says what is allowed.

    The command line prints the message and ends with status 2.
    """


MIN_SIMILARITY = 0.75
"""The similarity (`difflib`, upper and lower case alike) from which on a name counts as a
misspelling of another: two letters exchanged in a word of four are 0.75."""
MAX_NAMES = 2
"""The most names that are suggested."""


def similar(name: str, known: Iterable[str]) -> list[str]:
    """Return the known names of which a name may be a misspelling, the most similar first."""
    by_letters = {_letters(one): one for one in known}
    close = get_close_matches(_letters(name), by_letters, n=MAX_NAMES, cutoff=MIN_SIMILARITY)
    return [by_letters[letters] for letters in close]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a question that suggests similar names, or else those that have a name as a word.

    Returns:
        `did you mean A or B?`, or an empty text where there is nothing to suggest.
    """
    known = list(known)
    words = {one: re.split(r"[-_.]", _letters(one)) for one in known}
    close = similar(name, known) or [one for one in known if _letters(name) in words[one]]
    return f"did you mean {' or '.join(close[:MAX_NAMES])}?" if close else ""


def _letters(name: str) -> str:
    """Return a name as it is compared: an option without its dashes, without capitals."""
    return name.lstrip("-").lower()
