"""A user's own Minitopo: its packages are found in a directory and imported from nowhere else."""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from minitopo_dc.fields import SettingsError

FILES = ("core/topo.py", "core/experiment.py", "topos", "experiments", "mininet_builder.py")


@dataclass(frozen=True)
class Checkout:
    """A Minitopo directory whose `core` is imported, while its registries are not yet.

    `topos` and `experiments` fill their registries when they are imported, from the subclasses that
    exist then: those of this project have to be made before.
    """

    directory: Path
    topo: ModuleType
    experiment: ModuleType

    @classmethod
    def open(cls, directory: Path) -> Checkout:
        """Import `core`; raise SettingsError when the directory holds no Minitopo."""
        root = directory.resolve()
        for name in FILES:
            if not (root / name).exists():
                raise SettingsError(f"--minitopo {directory}: no {name}: not a Minitopo checkout")
        sys.path.insert(0, str(root))
        return cls(root, _imported(root, "core.topo"), _imported(root, "core.experiment"))

    def topologies(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the registries of Topo and TopoConfig classes, by name."""
        module = _imported(self.directory, "topos")
        return module.TOPOS, module.TOPO_CONFIGS

    def experiments(self) -> dict[str, Any]:
        """Return the registry of Experiment classes, by name."""
        return dict(_imported(self.directory, "experiments").EXPERIMENTS)

    def builder(self) -> Any:
        """Return a new network builder of the checkout."""
        return _imported(self.directory, "mininet_builder").MininetBuilder()


def _imported(root: Path, name: str) -> ModuleType:
    """Import a module from the checkout, and from nowhere else that has this common name."""
    try:
        module = importlib.import_module(name)
    except Exception as error:
        raise SettingsError(f"--minitopo {root}: {name}: {error!r}") from error
    if root not in Path(module.__file__ or "").resolve().parents:
        raise SettingsError(f"--minitopo {root}: {name} comes from {module.__file__}")
    return module
