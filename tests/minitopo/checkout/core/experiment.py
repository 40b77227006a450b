# mypy: ignore-errors
"""Base classes of experiments."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from core.parameter import Parameter


class ExperimentParameter(Parameter):
    defaults: ClassVar[dict[str, str]] = {"xpType": "none", "pingCount": "5"}


SETTINGS = Path("changed-settings")
"""Stands for the machine's own sysctls, which Minitopo changes and, if all goes well, restores."""


class Experiment:
    PARAMETER_CLASS = ExperimentParameter

    def __init__(self, filename: str | None, topo: Any, topo_config: Any) -> None:
        self.experiment_parameter = self.PARAMETER_CLASS(filename)
        self.topo = topo
        self.topo_config = topo_config

    def classic_run(self) -> None:
        self.prepare()
        self.run()
        self.clean()

    def prepare(self) -> None:
        SETTINGS.touch()
        self.topo_config.run_netem_at()

    def run(self) -> None:
        raise NotImplementedError

    def clean(self) -> None:
        SETTINGS.unlink()

    def ping(self) -> None:
        """What experiments that transfer something do before they prepare."""
        count = self.experiment_parameter.get("pingCount")
        for server in range(self.topo_config.server_interface_count()):
            for index in range(self.topo_config.client_interface_count()):
                source = self.topo_config.get_client_ip(index)
                target = self.topo_config.get_server_ip(interface_index=server)
                command = f"ping -c {count} -i 0.2 -I {source} {target} >> ping.log"
                self.topo.command_to(self.topo_config.client, command)
