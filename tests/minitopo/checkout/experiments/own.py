# mypy: ignore-errors
"""Experiments that are the checkout's own."""

from __future__ import annotations

from pathlib import Path

from core.experiment import Experiment


class Ping(Experiment):
    NAME = "ping"

    def run(self) -> None:
        self.ping()


class NoExperiment(Experiment):
    NAME = "none"

    def run(self) -> None:
        self.topo.get_cli()


class Quic(Experiment):
    """Has the name of one of ours."""

    NAME = "quic"

    def run(self) -> None:
        Path("own_quic.log").write_text("the checkout's own")


class PingsBefore(Experiment):
    NAME = "before"

    def __init__(self, filename: str, topo: object, topo_config: object) -> None:
        super().__init__(filename, topo, topo_config)
        self.ping()

    def run(self) -> None:
        """The pings were all."""


class Broken(Experiment):
    NAME = "broken"

    def run(self) -> None:
        raise LookupError("a mistake of this experiment")


class Exits(Experiment):
    """Mininet's way, when a program is missing."""

    NAME = "exits"

    def run(self) -> None:
        raise SystemExit(1)
