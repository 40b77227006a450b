"""A QUIC stack behind the C interface `stack.h`: its name, its library, and what it can do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

MAX_PATHS = 8
"""At once, of a connection: MDC_PATHS of `stack.h`."""


@dataclass(frozen=True)
class Stack:
    """One stack, whose ends have the functions of `stack.h`.

    Attributes:
        name: as people know it, and as results name its version.
        version: of its sources.
        congestion_controls: by its own names.
        load: gives `ffi` and `lib` of cffi, once loaded; raises `NotBuiltError` without it.
        missing: says why it cannot be used here and what to do; None when it can.
    """

    name: str
    version: str
    congestion_controls: tuple[str, ...]
    load: Callable[[], Any]
    missing: Callable[[], str | None]

    def seed(self, value: int) -> None:
        """Draw all of its random numbers in this process from a seed from now on.

        It is for simulations, one at a time: keys and identifiers can be foretold.
        """
        self.load().lib.mdc_seed(value % 2**64)

    def ecn_of(self, congestion_control: str) -> int:
        """Return the ECN code point with which a congestion control sends: ECT(1) for L4S."""
        return int(self.load().lib.mdc_ecn(congestion_control.encode()))
