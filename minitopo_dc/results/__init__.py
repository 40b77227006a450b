"""One run's directory: judged, written, and read back as tables, with measures of it.

This package reads and writes files and runs nothing. The names of `__init__.pyi` are its API. Each
is imported when it is first used, as pandas takes half a second.
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
