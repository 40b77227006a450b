# mypy: ignore-errors
"""Experiments that are the checkout's own."""

from __future__ import annotations

from pathlib import Path

from core.experiment import Experiment


class Ping(Experiment):
    NAME = "ping"

    def run(self) -> None:
        count = self.experiment_parameter.get("pingCount")
        for index in range(self.topo_config.client_interface_count()):
            source, target = self.topo_config.get_client_ip(index), self.topo_config.get_server_ip()
            command = f"ping -c {count} -i 0.2 -I {source} {target} >> ping.log"
            self.topo.command_to(self.topo_config.client, command)


class Quic(Experiment):
    """Has the name of one of ours."""

    NAME = "quic"

    def run(self) -> None:
        Path("own_quic.log").write_text("the checkout's own")


class Broken(Experiment):
    NAME = "broken"

    def run(self) -> None:
        raise LookupError("a mistake of this experiment")
