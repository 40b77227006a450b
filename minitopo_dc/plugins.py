"""What a plugin is made of: base classes, decorators and the records that they exchange.

docs/plugins.md says how a plugin is found. Each decorator registers under a name what it stands
over; `minitopo_dc.registry` keeps what is registered.
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub("minitopo_dc", __file__)
"""The names of a plugin's parts, each with the module that has it: a plugin needs few."""
