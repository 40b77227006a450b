"""PDCP of TS 38.323 without sockets and clocks: numbering, splitting, reordering.

Each call takes the time as an argument (int ns). An SDU is any object of the caller.
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
