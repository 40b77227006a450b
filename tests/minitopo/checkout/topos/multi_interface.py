# mypy: ignore-errors
"""One path between client and router, without any shaping."""

from __future__ import annotations

from core.topo import Topo, TopoConfig, TopoParameter


class MultiInterfaceTopo(Topo):
    NAME = "MultiIf"

    def __init__(self, topo_builder: object, topo_parameter: TopoParameter) -> None:
        super().__init__(topo_builder, topo_parameter)
        self.add_link(self.add_client(), self.add_router())
        self.add_link(self.routers[0], self.add_server())


class MultiInterfaceConfig(TopoConfig):
    NAME = "MultiIf"

    def configure_interfaces(self) -> None:
        self.client, self.server = self.topo.get_client(0), self.topo.get_server(0)
        self.router = self.topo.get_router(0)
        for node, interface, address in (
            (self.client, "Client_0-eth0", "10.0.0.1"),
            (self.router, "Router_0-eth0", "10.0.0.2"),
            (self.router, "Router_0-eth1", "10.1.0.2"),
            (self.server, "Server_0-eth0", "10.1.0.1"),
        ):
            self.topo.command_to(node, f"ip address flush dev {interface}")
            self.topo.command_to(node, f"ip address add {address}/24 dev {interface}")

    def configure_routing(self) -> None:
        self.topo.command_to(self.client, "ip route add default via 10.0.0.2")
        self.topo.command_to(self.server, "ip route add default via 10.1.0.2")
        # As on a machine that does not forward: Minitopo leaves it to the machine.
        self.topo.command_to(self.router, "sysctl -w net.ipv4.ip_forward=0")

    def client_interface_count(self) -> int:
        return 1

    def server_interface_count(self) -> int:
        return 1

    def get_client_ip(self, interface_index: int) -> str:
        return f"10.0.{interface_index}.1"

    def get_server_ip(self, interface_index: int = 0) -> str:
        return f"10.1.{interface_index}.1"


class ShapedTopo(MultiInterfaceTopo):
    """As Minitopo's own are: of links that not every machine can make."""

    NAME = "Shaped"

    def __init__(self, topo_builder: object, topo_parameter: TopoParameter) -> None:
        super().__init__(topo_builder, topo_parameter)
        self.bottleneck_links.append("a link of switches, tbf and netem")


class ShapedConfig(MultiInterfaceConfig):
    NAME = "Shaped"
