# mypy: ignore-errors
"""Base classes of experiments."""

from __future__ import annotations

from typing import Any, ClassVar

from core.parameter import Parameter


class ExperimentParameter(Parameter):
    defaults: ClassVar[dict[str, str]] = {"xpType": "none", "pingCount": "5"}


class Experiment:
    PARAMETER_CLASS = ExperimentParameter

    def __init__(self, filename: str, topo: Any, topo_config: Any) -> None:
        self.experiment_parameter = self.PARAMETER_CLASS(filename)
        self.topo = topo
        self.topo_config = topo_config

    def classic_run(self) -> None:
        self.prepare()
        self.run()
        self.clean()

    def prepare(self) -> None:
        self.topo_config.run_netem_at()

    def run(self) -> None:
        raise NotImplementedError

    def clean(self) -> None:
        """For subclasses."""
