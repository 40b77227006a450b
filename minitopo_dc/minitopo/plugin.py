"""A run inside a user's Minitopo checkout, of either project's classes, with an exit status.

Where a name is both Minitopo's and this project's (`quic`), each topology has its own project's
class. Unlike Minitopo's own runner this one fails when something failed, takes the network down
whatever happens, and lets routers forward.
"""

from __future__ import annotations

import contextlib
import logging
import shutil
import traceback
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from minitopo_dc.fields import IpVersion, SettingsError
from minitopo_dc.minitopo.checkout import Checkout, Context, make_classes
from minitopo_dc.minitopo.experiment import NONE
from minitopo_dc.minitopo.lines import Line, ParameterFile
from minitopo_dc.minitopo.mapping import MinitopoRun, paths_scenario, read_minitopo
from minitopo_dc.minitopo.path_parameters import PATH_AT
from minitopo_dc.minitopo.topology import (
    DETAILS,
    DUAL_CONNECTIVITY,
    NETEM_AT,
    SWITCH,
    read_topology,
)
from minitopo_dc.real.elements import ipv6_obstacle
from minitopo_dc.real.hosts import EmulatedHost, take_down
from minitopo_dc.real.machine import probe_kernel, save_facts
from minitopo_dc.real.run_registry import registered
from minitopo_dc.results.run_result import RunResult
from minitopo_dc.runners.base import runner_names
from minitopo_dc.runs.perform import RunFailedError
from minitopo_dc.topologies.host import ShellEndedError, watched_shells

LINK_DISCIPLINES = ("sch_tbf", "sch_netem")
"""The queueing disciplines of Minitopo's bottleneck links; Minitopo does not notice when the kernel
has none."""
SWITCHES = "ovs-vsctl"
"""The program of Open vSwitch, whose switches the ends of those links are."""


class CheckoutRun:
    """One run of two parameter files in a checkout."""

    def __init__(
        self,
        checkout: Path,
        topology: Path,
        experiment: Path | None = None,
        ip_version: IpVersion = 4,
    ) -> None:
        """Read the files and the checkout; without an experiment, Minitopo opens its command line.

        Raises:
            SettingsError: a file is wrong, or the directory is no checkout.
        """
        self._topology = topology.resolve()
        self._experiment = None if experiment is None else experiment.resolve()
        self._topology_type = _needed(self._topology, "topoType").value
        if ip_version == 6 and self._topology_type != DUAL_CONNECTIVITY:
            raise SettingsError(f"--ip 6: allowed with topoType:{DUAL_CONNECTIVITY}")
        # This is Minitopo's own default, with its own command line.
        self._experiment_type = NONE
        if self._experiment is not None:
            self._experiment_type = _needed(self._experiment, "xpType").value
        read = self._read()
        self.notes = (*(read.notes if read else ()), *self._topology_notes())
        self._checkout = Checkout(checkout)
        version = {"ip_version": ip_version}
        self._context = Context(read.scenario.model_copy(update=version) if read else None)
        self._ours = make_classes(self._checkout, self._context)
        topos = self._checkout.module("topos")
        self._topos, self._configs = topos.TOPOS, topos.TOPO_CONFIGS
        self._experiments = dict(self._checkout.module("experiments").EXPERIMENTS)
        if self._is_ours(self._experiment_type):
            self._experiments[self._experiment_type] = self._ours[self._experiment_type]
        _needed(self._topology, "topoType", self._topos)
        if self._experiment is not None:
            _needed(self._experiment, "xpType", self._experiments)

    def run(self, directory: Path) -> RunResult | None:
        """Run the experiment; everything it makes goes to `directory`, which exists.

        Returns:
            The result, if the experiment is one of this project's.

        Raises:
            RunFailedError: the checkout's code raised an error or ended the process, an element
                failed, a host was ended from outside, or this machine lacks what the checkout's
                links are made of.
        """
        directory = self._context.directory = directory.resolve()
        scenario = self._context.known
        if scenario and (reason := ipv6_obstacle(scenario)):
            raise RunFailedError(reason)
        # Once Minitopo logs, Python's own log has an output, where Mininet's would appear again.
        logging.getLogger("mininet").propagate = False
        save_facts(directory)
        if scenario is not None:
            scenario.save(directory / "scenario.yaml")
        # Minitopo writes its logs to the current directory.
        with contextlib.chdir(directory), registered(), watched_shells():
            try:
                self._run()
            except RunFailedError:
                raise
            except ShellEndedError as error:
                raise RunFailedError(str(error)) from error
            except SystemExit as error:  # Mininet's way, when a program is missing
                raise RunFailedError(f"Mininet ended the run: exit status {error.code}") from error
            except Exception as error:
                (directory / "error.log").write_text(traceback.format_exc(), encoding="utf-8")
                raise RunFailedError(f"{error!r}: see {directory}/error.log") from error
        return self._context.result

    def _read(self) -> MinitopoRun | None:
        if self._is_ours(self._experiment_type):
            testbed_hosts = self._topology_type == DUAL_CONNECTIVITY
            return read_minitopo(self._topology, self._experiment, testbed_hosts=testbed_hosts)
        if self._topology_type != DUAL_CONNECTIVITY:
            return None
        topology = read_topology(self._topology)
        notes = (*topology.notes, *topology.ignored)
        return MinitopoRun(paths_scenario(topology, self._experiment_type), notes)

    def _topology_notes(self) -> Iterator[str]:
        """Yield notes on what Minitopo's own topologies do otherwise than their file says."""
        if self._topology_type == DUAL_CONNECTIVITY:
            return
        file = ParameterFile.read(self._topology)
        switch = file.one(SWITCH)
        if switch is not None and switch.value.lower() == "yes":
            yield switch.says(
                "Minitopo's changes take away the delay and the loss that they do not name "
                "(docs/minitopo.md)"
            )
        for line in file.all(*DETAILS, "seed"):
            yield line.says("ignored: Minitopo's own topologies have none")
        for line in file.all(PATH_AT) if not self._is_ours(self._experiment_type) else ():
            yield line.says("ignored: Minitopo's own experiments have none")

    def _is_ours(self, experiment: str) -> bool:
        """Return whether this project makes the experiment of a type.

        Minitopo has experiments `http`, `https`, `ping` and `quic` of its own.
        """
        if experiment == "quic" and self._topology_type != DUAL_CONNECTIVITY:
            return False
        return experiment in runner_names()

    def _run(self) -> None:
        parameters = self._checkout.module("core.topo").TopoParameter(
            str(self._readable_topology())
        )
        builder = self._checkout.module("mininet_builder").MininetBuilder()
        topo = self._topos[self._topology_type](builder, parameters)
        config = self._configs[self._topology_type](topo, parameters)
        _check_machine(topo)
        with contextlib.ExitStack() as stack:
            stack.callback(topo.close_log_file)
            stack.callback(_stop, topo, builder)
            topo.start_network()
            self._context.hosts = [EmulatedHost(node) for node in builder.net.values()]
            config.configure_network()
            for router in topo.routers:
                topo.command_to(router, "sysctl -w net.ipv4.ip_forward=1")
            kind: Any = self._experiments[self._experiment_type]
            try:
                _perform(kind(self._experiment and str(self._experiment), topo, config))
            finally:
                if self._context.result is None:  # it explains whatever came of it
                    self._context.check()

    def _readable_topology(self) -> Path:
        """Return a topology file that Minitopo can read, without the keys that it cannot.

        Minitopo's reader makes of a repeated key a list, which it cannot use, and takes a key that
        begins with `path` for a path. On its own topologies it makes the changes itself.
        """
        is_ours = self._topology_type == DUAL_CONNECTIVITY
        file = ParameterFile.read(self._topology)
        ours = file.all(PATH_AT, *((NETEM_AT,) if is_ours else ()))
        if not ours:
            return self._topology
        kept = [f"{line.key}:{line.value}" for line in file.lines if line not in ours]
        path = self._context.directory / "topology"
        path.write_text("\n".join(kept) + "\n", encoding="utf-8")
        return path


def _check_machine(topo: Any) -> None:
    if not getattr(topo, "bottleneck_links", ()):
        return
    outcomes = probe_kernel()
    lacking = [f"the kernel's {name}" for name in LINK_DISCIPLINES if outcomes[name]]
    if shutil.which(SWITCHES) is None:
        lacking.append(f"Open vSwitch ({SWITCHES})")
    if lacking:
        raise RunFailedError(
            f"this machine has not {' nor '.join(lacking)}, which Minitopo's links are made of; "
            f"topoType:{DUAL_CONNECTIVITY} and minitopo-dc run need neither"
        )


def _stop(topo: Any, builder: Any) -> None:
    """Take down what was started, also where Minitopo would wait for a dead host."""
    if builder.net is not None:
        take_down(builder.net, topo.stop_network)


def _perform(experiment: Any) -> None:
    """Run an experiment; when it fails, clean up, which Minitopo does only after a success.

    The kernel settings above all have to be restored, as Minitopo makes them outside its hosts.
    """
    try:
        experiment.classic_run()
    except BaseException:
        with contextlib.suppress(Exception):
            experiment.clean()
        raise


def _needed(path: Path, key: str, registry: Mapping[str, Any] | None = None) -> Line:
    """Return the line of a key; SettingsError: there is none, or its value is in no registry."""
    line = ParameterFile.read(path).one(key)
    if line is None:
        raise SettingsError(f"{path}: no {key}")
    if registry is not None and line.value not in registry:
        raise line.error(f"{line.value!r}; this Minitopo has {', '.join(sorted(registry))}")
    return line
