"""A path schedule in a line: `1,2 4:abandon:1 5.5:open:1`.

The first word has the legs that have a path at first; each other one is `AT:ACTION:LEG`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from minitopo_dc.settings.base import SettingsError
from minitopo_dc.settings.paths import ACTIONS, PathSchedule

FORM = f"LEG[,LEG...] [SECONDS:{'|'.join(ACTIONS)}:LEG ...]"


def parse_path_words(words: Sequence[str], source: str, *, first: int = 1) -> PathSchedule:
    """The schedule that words describe.

    Args:
        words: the first one has the initial legs.
        source: begins an error: the option's or the file's name.
        first: the number of the first leg in these words.

    Raises:
        SettingsError: a word has another form, or the schedule cannot be.
    """
    initial, *changes = words
    values = {
        "initial": [leg - first + 1 for leg in _legs(initial, source)],
        "schedule": [_change(word, source, first) for word in changes],
    }
    return PathSchedule.check(values, source)


def _legs(word: str, source: str) -> Iterator[int]:
    for part in word.split(","):
        if not part.isdecimal():
            raise SettingsError(f"{source}: {word!r} is no list of legs; write {FORM}")
        yield int(part)


def _change(word: str, source: str, first: int) -> dict[str, float | str]:
    at_s, _, rest = word.partition(":")
    action, _, leg = rest.partition(":")
    if action not in ACTIONS or not leg.isdecimal():
        raise SettingsError(f"{source}: {word!r} is no change of a path; write {FORM}")
    return {"at_s": at_s, action: int(leg) - first + 1}
