"""A user's own Minitopo: its packages are found in a directory and imported from nowhere else.

Its topology, of IPv4, gets the same addresses, rules and routes in IPv6: 10.0.1.2 becomes
fd00:10:0:1::2, as on this project's hosts (`topologies.host`).
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from minitopo_dc.fields import SettingsError
from minitopo_dc.topologies.host import in_ipv6, run

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


def ipv6_of(address: str) -> str:
    """Return the IPv6 address, or network, of an IPv4 one; an IPv6 address stays as it is.

    Raises:
        SettingsError: the network does not end at a byte.
    """
    try:
        return in_ipv6(address)
    except ValueError as error:
        raise SettingsError(f"--ip 6: {error}") from None


def add_ipv6(node: Any, *, forward: bool) -> None:
    """Give a Mininet node, whose IPv4 is complete, the same addresses and routes in IPv6.

    Raises:
        RuntimeError: the node refused a command.
        SettingsError: see `ipv6_of`.
    """
    every = "net.ipv6.conf.all"
    # Each interface gets a link-local address, without which a router finds no neighbours (RFC
    # 4861). It gets it at once, as nobody else has it (accept_dad).
    quiet = (f"net.ipv6.conf.{name}.accept_dad=0" for name in node.nameToIntf)
    run(node, "sysctl", "-qw", f"{every}.disable_ipv6=1", *quiet)
    run(node, "sysctl", "-qw", f"{every}.disable_ipv6=0", f"{every}.forwarding={int(forward)}")
    interfaces = [one for one in _state(node, "address") if one["ifname"] != "lo"]
    words: list[tuple[str, ...]] = []
    for interface in interfaces:
        for own in interface["addr_info"]:
            address = ipv6_of(f"{own['local']}/{own['prefixlen']}")
            words.append(("address", "add", address, "dev", interface["ifname"], "nodad"))
    for route in _state(node, "route", "show", "table", "all"):
        # The kernel makes its own of IPv6's addresses.
        if route.get("protocol") != "kernel" and "dev" in route:
            target = route["dst"] if route["dst"] == "default" else ipv6_of(route["dst"])
            via = ("via", ipv6_of(route["gateway"])) if "gateway" in route else ()
            place = ("dev", route["dev"], "table", _table(route))
            words.append(("route", "add", target, *via, *place))
    for rule in _state(node, "rule"):
        if rule["src"] != "all":
            source = ("from", ipv6_of(rule["src"]), "table", _table(rule))
            words.append(("rule", "add", *source, "priority", str(rule["priority"])))
    for command in words:
        run(node, "ip", "-6", *command)


def _state(node: Any, *words: str) -> list[dict[str, Any]]:
    out, err, code = node.pexec(["ip", "-4", "-json", *words])
    if code:
        raise RuntimeError(f"{node.name}: ip -4 {' '.join(words)}: {(err or out).strip()}")
    return list(json.loads(out or "[]"))


def _table(route: Mapping[str, Any]) -> str:
    return str(route.get("table", "main"))
