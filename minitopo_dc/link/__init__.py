"""Emulated radio links, each direction by itself, without sockets and clocks.

Each call takes the time as an argument, in ns.
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
