"""A user's own Minitopo checkout, and this project's topology and experiments as its classes.

Its packages are found in a directory and imported from nowhere else. Minitopo finds classes by the
attribute `NAME` of the subclasses of its `Topo`, `TopoConfig` and `Experiment`. The mixins here
hold all that this project adds; `make_classes` joins them with the checkout's base classes. The
checkout's own experiments run on this topology, too: its client and server are those of this
project, Router_0 and Router_1 are gnb and ue.
"""

from __future__ import annotations

import importlib
import sys
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from minitopo_dc.fields import SettingsError
from minitopo_dc.minitopo.topology import DUAL_CONNECTIVITY
from minitopo_dc.real.elements import ElementProcess, running, set_sysctl, start, stop_all
from minitopo_dc.real.host_capture import captured
from minitopo_dc.real.hosts import EmulatedHost
from minitopo_dc.real.run import make_jobs, run_flows
from minitopo_dc.real.watch import Watch
from minitopo_dc.results.judge import blank_result
from minitopo_dc.results.run_result import RunResult
from minitopo_dc.runners.base import runner_names
from minitopo_dc.runs.check import obstacle_here
from minitopo_dc.runs.element_settings import router_settings
from minitopo_dc.runs.perform import Measured, outcome
from minitopo_dc.scenario import Scenario
from minitopo_dc.scenario.addresses import client_address, server_address
from minitopo_dc.topologies.host import ShellEndedError, run, set_up
from minitopo_dc.topologies.two_path import TwoPath

FILES = ("core/topo.py", "core/experiment.py", "topos", "experiments", "mininet_builder.py")


class Checkout:
    """A Minitopo directory, whose modules are imported when they are asked for.

    `topos` and `experiments` fill their registries when they are imported, from the subclasses that
    exist then: those of this project have to be made before, from the classes of `core`.
    """

    def __init__(self, directory: Path) -> None:
        """Find the modules; raise SettingsError when the directory holds no Minitopo."""
        self._root = directory.resolve()
        for name in FILES:
            if not (self._root / name).exists():
                raise SettingsError(f"--minitopo {directory}: no {name}: not a Minitopo checkout")
        sys.path.insert(0, str(self._root))

    def module(self, name: str) -> Any:
        """Import a module from the checkout, and from nowhere else that has this common name."""
        try:
            module = importlib.import_module(name)
        except Exception as error:
            raise SettingsError(f"--minitopo {self._root}: {name}: {error!r}") from error
        if self._root not in Path(module.__file__ or "").resolve().parents:
            raise SettingsError(f"--minitopo {self._root}: {name} comes from {module.__file__}")
        return module


ENDS = ("server", "client")


@dataclass
class Context:
    """The state that the classes of one run share."""

    known: Scenario | None
    """The run as this project reads it; none when neither topology nor experiment is this
    project's."""
    directory: Path = Path()
    """The directory for all files of the run."""
    result: RunResult | None = None
    names: dict[str, str] = field(default_factory=dict)
    """Minitopo's names of this project's hosts."""
    hosts: list[EmulatedHost] = field(default_factory=list)
    """All hosts of the running network, under Minitopo's names."""
    elements: list[ElementProcess] = field(default_factory=list)
    running: ExitStack = field(default_factory=ExitStack)

    @property
    def scenario(self) -> Scenario:
        """Return the run as this project's classes have it."""
        assert self.known is not None
        return self.known

    def check(self) -> None:
        """Raise RunFailedError when a host or an element was ended from outside."""
        for host in self.hosts:
            host.check()
        for element in self.elements:
            element.check()

    def stop_elements(self) -> list[dict[str, Any]]:
        """End the elements in order, and return their summaries, gnb's first.

        Raises:
            RunFailedError: an element failed.
        """
        elements, self.elements = self.elements, []
        try:
            return stop_all(elements)
        finally:
            self.running.close()


class TopoMixin:
    """The hosts server, gnb, ue and client, linked as in `topologies/two_path.py`."""

    context: Context

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        host: Any = self
        scenario = self.context.scenario
        sizes = len(scenario.legs), len(scenario.real.backhaul)
        self.plan = TwoPath(*sizes, ip=scenario.ip_version)
        adders = {"client": host.add_client, "server": host.add_server}
        order = ("client", "server", "gnb", "ue", "edge", "agg")
        for name in sorted(self.plan.hosts(), key=order.index):
            self.context.names[name] = str(adders.get(name, host.add_router)())
        for _, _, info in self.plan.links(withInfo=True):
            ends = (self.context.names[info[node]] for node in ("node1", "node2"))
            names = {name: info[name] for name in ("intfName1", "intfName2")}
            host.add_link(*ends, **names)

    def stop_network(self) -> None:
        """Stop the network, and before it the elements."""
        network: Any = super()
        try:
            self.context.stop_elements()
        finally:
            network.stop_network()


class ConfigMixin:
    """The configuration of addresses, routes, and the elements on the routers."""

    context: Context
    topo: Any

    def configure_interfaces(self) -> None:
        """Set this project's addresses, and Minitopo's attributes for its own experiments."""
        self.client, self.server = self.topo.get_client(0), self.topo.get_server(0)
        self.router = self.topo.get_router(0)
        for _, _, info in self.topo.plan.links(withInfo=True):
            for number in (1, 2):
                node = self._node(info[f"node{number}"])
                interface, address = info[f"intfName{number}"], info[f"params{number}"]["ip"]
                run(node, "ip", "address", "flush", "dev", interface)
                run(node, "ip", "address", "add", address, "dev", interface)
                run(node, "ip", "link", "set", "dev", interface, "up")
                # In the form in which `set_up` finds them.
                known = node.intf(interface)
                known.ip, known.prefixLen = address.split("/")

    def configure_routing(self) -> None:
        """Set routes and offloads as on this project's hosts, then start the elements."""
        scenario, directory = self.context.scenario, self.context.directory
        for name in self.topo.plan.hosts():
            info = self.topo.plan.nodeInfo(name)
            parameters = {key: info[key] for key in ("forward", "commands", "ip_version")}
            set_up(self._node(name), mtu=info["mtu"] or {}, **parameters)
        settings = router_settings(scenario, directory)
        pairs = ((element, EmulatedHost(self._node(element.host))) for element in settings)
        self.context.elements = self.context.running.enter_context(running(*pairs))

    def run_netem_at(self) -> None:
        """Set time zero of traces and changes, which the elements make themselves."""
        start(self.context.elements)

    def client_interface_count(self) -> int:
        """Return the number of the client's interfaces, one for each leg."""
        return len(self.context.scenario.legs)

    def server_interface_count(self) -> int:
        """Return the number of the server's interfaces, one for each backhaul link."""
        return max(1, len(self.context.scenario.real.backhaul))

    def get_client_ip(self, interface_index: int) -> str:
        """Return the client's address for a leg (0, 1, ...)."""
        return client_address(interface_index + 1, self.context.scenario.ip_version)

    def get_server_ip(self, interface_index: int = 0) -> str:
        """Return the server's address on a backhaul link (0, 1, ...)."""
        return server_address(interface_index + 1, self.context.scenario.ip_version)

    def get_client_interface(self, client_index: int, interface_index: int) -> str:  # noqa: ARG002
        """Return the client's interface for a leg (0, 1, ...); there is one client."""
        return f"client-lan{interface_index + 1}"

    def get_server_interface(self, server_index: int, interface_index: int) -> str:  # noqa: ARG002
        """Return the server's interface on a backhaul link (0, 1, ...); there is one server."""
        has_links = bool(self.context.scenario.real.backhaul)
        return f"server-srv{interface_index + 1}" if has_links else "server-core"

    def get_router_interface_to_client_switch(self, index: int) -> str:
        """Return gnb's interface to a leg (0, 1, ...)."""
        return f"gnb-leg{index + 1}"

    def get_router_interface_to_server_switch(self, index: int) -> str:  # noqa: ARG002
        """Return gnb's interface towards the server."""
        return "gnb-core"

    def _node(self, name: str) -> Any:
        return self.topo.get_host(self.context.names[name])


class ExperimentMixin:
    """A download by one of this project's runners, on its topology or on one of Minitopo's.

    On Minitopo's topologies no element counts what each path carried: the counters of the client's
    interfaces do.
    """

    context: Context
    topo_config: Any

    def prepare(self) -> None:
        """Make the kernel settings of the experiment file, without those of MPTCP v0."""
        for name in ENDS:
            set_sysctl(self._host(name), self.context.scenario.real.sysctl)

    def run(self) -> None:
        """Run the flows, and keep the result."""
        scenario, directory = self.context.scenario, self.context.directory
        blank = blank_result(scenario, directory)
        try:
            if (reason := obstacle_here(scenario)) is not None:
                result = replace(blank, status="unsupported", reason=reason)
            else:
                result = outcome(blank, scenario, self._measure)
        except ShellEndedError as failure:
            result = replace(blank, reason=str(failure))
        self.context.result = result
        result.save(directory)

    def clean(self) -> None:
        """Do nothing, as nothing is left on the hosts."""

    def _measure(self, _details: dict[str, Any]) -> Measured:
        """Run the flows; the client's interfaces count what each path carried, or the elements."""
        config, context = self.topo_config, self.context
        scenario, directory = context.scenario, context.directory
        server, client = (self._host(name) for name in ENDS)
        jobs = make_jobs(
            scenario,
            directory,
            servers=[config.get_server_ip()],
            client=lambda leg: config.get_client_ip(leg - 1),
        )
        before = self._path_bytes(client)
        observed = (self._host(name) for name in scenario.real.captured_hosts)
        with captured(observed, directory), Watch() as watch:
            for element in self.context.elements:
                watch.add(element.settings.host, element.pid)
            measurements = run_flows(
                jobs,
                server,
                client,
                directory / "client-rate.csv",
                interval_ms=scenario.sampling_ms,
                on_start=config.run_netem_at,
                check=self.context.check,
                watch=watch,
            )
        after = self._path_bytes(client)
        leg_bytes = [end - begin for begin, end in zip(before, after, strict=True)]
        if summaries := self.context.stop_elements():
            leg_bytes = [leg["delivered_bytes"] for leg in summaries[0]["legs"].values()]
        return Measured(measurements, leg_bytes, watch.judge(measurements, summaries))

    def _host(self, name: str) -> EmulatedHost:
        return EmulatedHost(getattr(self.topo_config, name), name)

    def _path_bytes(self, client: EmulatedHost) -> list[int]:
        """Return the IP bytes that the client has received over each path."""
        counts = client.interface_bytes()
        paths = range(len(self.context.scenario.legs))
        return [counts[self.topo_config.get_client_interface(0, path)] for path in paths]


def make_classes(checkout: Checkout, context: Context) -> dict[str, type]:
    """Make this project's classes below the checkout's; return the experiments by name.

    It has to be called before the checkout's registries are built. The checkout's base classes know
    their subclasses only as long as these are referenced: the context's owner holds them.
    """
    core, experiment = checkout.module("core.topo"), checkout.module("core.experiment")
    named = {"context": context, "NAME": DUAL_CONNECTIVITY}
    classes: dict[str, type] = {
        "topo": type("DualConnectivityTopo", (TopoMixin, core.Topo), named),
        "config": type("DualConnectivityConfig", (ConfigMixin, core.TopoConfig), named),
    }
    for name in runner_names():
        bases = (ExperimentMixin, experiment.Experiment)
        classes[name] = type(f"Experiment_{name}", bases, {**named, "NAME": name})
    return classes
