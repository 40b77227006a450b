"""Capacity traces: to read, write, describe and make them.

Only the readers and writers of files do input and output.
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
"""The names of `minitopo_dc.trace`, each with the module that has it."""
