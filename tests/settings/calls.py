"""What tests call in processes of their own: light, as each of these imports it."""

from __future__ import annotations

import os
import signal
import time


class TwoWordsError(Exception):
    """What cannot be made again of its message."""

    def __init__(self, _one: str, _two: str) -> None:
        super().__init__("both")


def act(what: str) -> str:
    """As the call says."""
    if what == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "raise":
        raise TwoWordsError("a", "b")
    if what == "sleep":
        time.sleep(100)
    return str(os.getpid()) if what == "pid" else what
