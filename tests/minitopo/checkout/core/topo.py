# mypy: ignore-errors
"""Base classes of topologies."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from core.parameter import Parameter


class TopoParameter(Parameter):
    defaults: ClassVar[dict[str, str]] = {"leftSubnet": "10.1.", "changeNetem": "false"}


class Topo:
    def __init__(self, topo_builder: Any, topo_parameter: TopoParameter) -> None:
        self.topo_builder = topo_builder
        self.topo_parameter = topo_parameter
        self.change_netem = topo_parameter.get("changeNetem") == "yes"
        self.log_file = Path("command.log").open("w")  # noqa: SIM115
        self.clients: list[Any] = []
        self.routers: list[Any] = []
        self.servers: list[Any] = []
        self.bottleneck_links: list[Any] = []

    def _add(self, kind: str, known: list[Any]) -> Any:
        known.append(self.topo_builder.add_host(f"{kind}_{len(known)}"))
        return known[-1]

    def add_client(self) -> Any:
        return self._add("Client", self.clients)

    def add_router(self) -> Any:
        return self._add("Router", self.routers)

    def add_server(self) -> Any:
        return self._add("Server", self.servers)

    def add_link(self, from_a: str, to_b: str, **options: Any) -> None:
        self.topo_builder.add_link(from_a, to_b, **options)

    def get_client(self, index: int) -> Any:
        return self.clients[index]

    def get_router(self, index: int) -> Any:
        return self.routers[index]

    def get_server(self, index: int) -> Any:
        return self.servers[index]

    def get_host(self, who: str) -> Any:
        return self.topo_builder.get_host(who)

    def command_to(self, who: Any, command: str) -> Any:
        self.log_file.write(f"{who} : {command}\n")
        return self.topo_builder.command_to(who, command)

    def get_interface_names(self, who: Any) -> list[str]:
        return self.topo_builder.get_interface_names(who)

    def reinit_variables(self) -> None:
        """Names become nodes once the network runs."""
        self.clients = [self.get_host(name) for name in self.clients]
        self.routers = [self.get_host(name) for name in self.routers]
        self.servers = [self.get_host(name) for name in self.servers]

    def get_cli(self) -> None:
        self.topo_builder.get_cli()

    def start_network(self) -> None:
        self.topo_builder.start_network()

    def stop_network(self) -> None:
        self.topo_builder.stop_network()

    def close_log_file(self) -> None:
        self.log_file.close()


class TopoConfig:
    def __init__(self, topo: Topo, param: TopoParameter) -> None:
        self.topo = topo
        self.param = param

    def configure_network(self) -> None:
        self.topo.reinit_variables()
        for name in self.topo.topo_builder.net:
            node = self.topo.get_host(name)
            for interface in self.topo.get_interface_names(node):
                self.topo.command_to(node, f"ethtool -K {interface} tso off gso off gro off")
        self.configure_interfaces()
        self.configure_routing()

    def configure_interfaces(self) -> None:
        """For subclasses."""

    def configure_routing(self) -> None:
        """For subclasses."""

    def run_netem_at(self) -> None:
        """Nothing changes here."""
