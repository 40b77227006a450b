# mypy: ignore-errors
"""Networks of Mininet."""

from __future__ import annotations

from typing import Any

from mininet.cli import CLI
from mininet.link import TCLink
from mininet.net import Mininet
from mininet.topo import Topo


class MininetBuilder(Topo):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.net: Any = None

    def add_host(self, host: str) -> Any:
        return self.addHost(host)

    def add_link(self, from_a: str, to_b: str, **options: Any) -> Any:
        return self.addLink(from_a, to_b, **options)

    def get_host(self, who: str) -> Any:
        return self.net.getNodeByName(who)

    def get_interface_names(self, who: Any) -> list[str]:
        return [name for name in who.intfNames() if name != "lo"]

    def command_to(self, who: Any, command: str) -> Any:
        return who.cmd(command)

    def start_network(self) -> None:
        self.net = Mininet(topo=self, link=TCLink, controller=None)
        self.net.start()

    def get_cli(self) -> None:
        CLI(self.net)

    def stop_network(self) -> None:
        if self.net is not None:
            self.net.stop()
