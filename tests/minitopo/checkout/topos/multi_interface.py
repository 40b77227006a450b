# mypy: ignore-errors
"""Paths between client and router, without any shaping; one that loses all packets is cut."""

from __future__ import annotations

from core.topo import Topo, TopoConfig, TopoParameter


class MultiInterfaceTopo(Topo):
    NAME = "MultiIf"

    def __init__(self, topo_builder: object, topo_parameter: TopoParameter) -> None:
        super().__init__(topo_builder, topo_parameter)
        self.add_client(), self.add_router()
        for _ in paths(topo_parameter):
            self.add_link(self.clients[0], self.routers[0])
        self.add_link(self.routers[0], self.add_server())


def paths(parameter: TopoParameter) -> list[list[str]]:
    """The fields of path_c2r_0, path_c2r_1, ..."""
    keys = sorted(key for key in parameter.parameters if key.startswith("path_c2r_"))
    return [parameter.get(key).split(",") for key in keys]


class MultiInterfaceConfig(TopoConfig):
    NAME = "MultiIf"

    def configure_interfaces(self) -> None:
        self.client, self.server = self.topo.get_client(0), self.topo.get_server(0)
        self.router = self.topo.get_router(0)
        count = self.client_interface_count()
        for index in range(count):
            self._address(self.client, f"Client_0-eth{index}", f"10.0.{index}.1")
            self._address(self.router, f"Router_0-eth{index}", f"10.0.{index}.2")
        self._address(self.router, f"Router_0-eth{count}", "10.1.0.2")
        self._address(self.server, "Server_0-eth0", "10.1.0.1")

    def _address(self, node: object, interface: str, address: str) -> None:
        self.topo.command_to(node, f"ip address flush dev {interface}")
        self.topo.command_to(node, f"ip address add {address}/24 dev {interface}")

    def configure_routing(self) -> None:
        for index, fields in enumerate(paths(self.param)):
            table = f"ip route add default via 10.0.{index}.2 table {index + 1}"
            self.topo.command_to(self.client, table)
            rule = f"ip rule add from 10.0.{index}.1 table {index + 1}"
            self.topo.command_to(self.client, rule)
            if fields[3:4] == ["100"]:
                self.topo.command_to(self.router, f"ip rule add iif Router_0-eth{index} blackhole")
        self.topo.command_to(self.client, "ip route add default via 10.0.0.2")
        self.topo.command_to(self.server, "ip route add default via 10.1.0.2")
        # As on a machine that does not forward: Minitopo leaves it to the machine.
        self.topo.command_to(self.router, "sysctl -w net.ipv4.ip_forward=0")

    def client_interface_count(self) -> int:
        return len(paths(self.param))

    def server_interface_count(self) -> int:
        return 1

    def get_client_ip(self, interface_index: int) -> str:
        return f"10.0.{interface_index}.1"

    def get_client_interface(self, client_index: int, interface_index: int) -> str:
        return f"Client_{client_index}-eth{interface_index}"

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
