"""What tests call in processes of their own: light, as each of these imports it."""

from __future__ import annotations

import os
import signal
import time

from minitopo_dc.pool import worker_number


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
    if what == "number":
        time.sleep(0.5)  # the other process gets a call, too
        return str(worker_number())
    return str(os.getpid()) if what == "pid" else what
