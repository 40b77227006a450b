"""A user's own Minitopo: its packages, found in a directory and imported from nowhere else."""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from minitopo_dc.settings import SettingsError

FILES = ("core/topo.py", "core/experiment.py", "topos", "experiments", "mininet_builder.py")


@dataclass(frozen=True)
class Checkout:
    """A Minitopo directory whose `core` is imported, and its registries not yet.

    `topos` and `experiments` fill their registries when they are imported, from the subclasses
    that exist then: ours have to be made before.
    """

    directory: Path
    topo: ModuleType
    experiment: ModuleType

    @classmethod
    def open(cls, directory: Path) -> Checkout:
        """Import `core`. SettingsError when the directory holds no Minitopo."""
        root = directory.resolve()
        for name in FILES:
            if not (root / name).exists():
                raise SettingsError(f"--minitopo {directory}: no {name}: not a Minitopo checkout")
        sys.path.insert(0, str(root))
        return cls(root, _imported(root, "core.topo"), _imported(root, "core.experiment"))

    def topologies(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The registries of Topo and TopoConfig classes, by name."""
        module = _imported(self.directory, "topos")
        return module.TOPOS, module.TOPO_CONFIGS

    def experiments(self) -> dict[str, Any]:
        """The registry of Experiment classes, by name."""
        return dict(_imported(self.directory, "experiments").EXPERIMENTS)

    def builder(self) -> Any:
        """A new network builder."""
        return _imported(self.directory, "mininet_builder").MininetBuilder()


def _imported(root: Path, name: str) -> ModuleType:
    """Import a module of the checkout, and of nothing else that has this common name."""
    try:
        module = importlib.import_module(name)
    except Exception as error:
        raise SettingsError(f"--minitopo {root}: {name}: {error!r}") from error
    if root not in Path(module.__file__ or "").resolve().parents:
        raise SettingsError(f"--minitopo {root}: {name} comes from {module.__file__}")
    return module
