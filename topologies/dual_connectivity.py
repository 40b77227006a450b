"""Dual Connectivity between two hosts of any Mininet network.

    net = Mininet(...)
    addDualConnectivity(net, "gnb", "ue", split="batch", ratio=[2, 1])
    net.start()

The links between both hosts are the legs, whatever their class. In a topology for Mininet's `mn`
the same is a matter of two node classes:

    self.addHost("gnb", cls=Gnb)
    self.addHost("ue", cls=Ue, dual_connectivity={"legs": [{"bw": 20}, {"bw": 10}]})

An element on each of both hosts (`minitopo_dc.real.element`, a process) splits and reorders; this
file imports Mininet and this folder only, so that `mn` can read it.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from mininet.link import Intf, Link
from mininet.log import error
from mininet.net import Mininet
from mininet.node import Node

if not __package__:  # mn runs this file outside its package, and compiles it by its name
    sys.path.append(str(Path(sys._getframe().f_code.co_filename).resolve().parents[1]))
    __package__ = "topologies"

from .bearer_end import (
    LEG_MTU,
    MAX_LEGS,
    BearerEnd,
    Bearers,
    LegInterfaces,
    addresses,
    neighbours,
    segment,
)
from .element_process import NodeElement, Registered, TopologyError
from .host import TestbedHost, run, words
from .radio_link import in_json, radio_settings

Parameters = Mapping[str, Any]
"""Of a leg: those of a radio link; `uplink` and `downlink` have what differs there."""
ONE_LEG = {"split": "batch", "delivery": "off"}
"""The uplink that is not split: its first leg, as in the papers; another one while that is down."""


class DualConnectivity:
    """A split bearer between two hosts, each way; it runs from the start until `stop`.

    It is in a network's list of links, so that Mininet stops it.
    """

    intf1 = intf2 = SimpleNamespace(node=None)
    """Where Mininet looks for the interfaces of a link: this part has no ends."""

    def __init__(
        self,
        gnb: Node,
        ue: Node,
        legs: Sequence[Parameters | None] | None = None,
        *,
        ends: Sequence[tuple[str, str]] | None = None,
        split_uplink: bool = True,
        uplink_pdcp: Parameters | None = None,
        directory: str | Path | None = None,
        seed: Any = 1,
        plugins: Sequence[str] = (),
        planned: bool = False,
        **pdcp: Any,
    ) -> None:
        """Set both hosts up and start their elements; see `addDualConnectivity`."""
        if not isinstance(uplink_pdcp, (Mapping, type(None))):
            words = "allowed are dictionaries of PDCP's fields"
            raise TopologyError(f"uplink_pdcp={uplink_pdcp!r:.80}: {words}")
        down = in_json(pdcp)
        up = down if uplink_pdcp is None else in_json(uplink_pdcp)
        self.gnb, self.ue = gnb, ue
        self._elements: list[NodeElement] = []
        self._run: Registered | None = None
        for node in (gnb, ue):
            if not node.inNamespace:
                raise TopologyError(f"{node.name}: needs a network namespace of its own")
            if next(addresses(node, planned=planned), None) is None:
                raise TopologyError(
                    f"{node.name}: has no address: Mininet gives one to hosts that have links when "
                    "the network is built; make legs before"
                )
            if getattr(node, "dual_connectivity", None) is not None:
                raise TopologyError(f"{node.name}: has Dual Connectivity already")
        self.legs = make_legs(find_legs(gnb, ue) if ends is None else _named(gnb, ue, ends), legs)
        one = ONE_LEG | {"ratio": [1, *[0] * (len(self.legs) - 1)]}
        bearers = Bearers(
            down, up if split_uplink else one, _plugins(plugins), 1 if seed is None else seed
        )
        made = (
            BearerEnd("gnb", gnb, ue, self.legs, planned),
            BearerEnd("ue", ue, gnb, self.legs, planned),
        )
        try:
            self._start(made, bearers, directory)
        except BaseException:
            self.stop()
            raise
        gnb.dual_connectivity = ue.dual_connectivity = self

    def statistics(self) -> dict[str, dict[int, dict[str, int]]]:
        """Return the counters of each leg (docs/legs.md) per direction, up to 0.1 s old.

        A leg that is a user's link counts what was given to it, as delivered.
        """
        pairs = zip(("downlink", "uplink"), self._elements)  # noqa: B905
        return {direction: element.counters() for direction, element in pairs}

    def down(self, leg: int) -> None:
        """Take both interfaces of leg `leg` (1, 2, ...) down, as Mininet's `link` does of all."""
        self._set(leg, "down")

    def up(self, leg: int) -> None:
        """Bring both interfaces of leg `leg` (1, 2, ...) up again."""
        self._set(leg, "up")

    def restart(self) -> None:
        """Restart the traces: make now their time zero, which was when the elements were ready."""
        for element in self._elements:
            element.order("start")

    def stop(self) -> None:
        """End the elements; their hosts' rules and routes go with their hosts."""
        elements, self._elements = self._elements, []
        for element in elements:
            element.begin_stop()
        for element in elements:
            if problem := element.stop():
                error(f"*** {problem}\n")
        if self._run is not None:
            self._run.close()
            self._run = None

    delete = stop

    def status(self) -> str:
        """Return the number of legs, for Mininet's `links`."""
        return f"({len(self.legs)} legs)"

    def __str__(self) -> str:
        return f"{self.gnb.name}<=>{self.ue.name}"

    def _start(
        self, ends: Sequence[BearerEnd], bearers: Bearers, directory: str | Path | None
    ) -> None:
        self._run = Registered()
        place = self._run.directory if directory is None else Path(directory).resolve()
        place.mkdir(parents=True, exist_ok=True)
        for leg in self.legs:
            for end in (leg.gnb, *segment(leg.gnb)):
                run(end.node, *words(f"ip link set dev {end.name} mtu {LEG_MTU}"))
        for end in ends:
            for command in end.commands():
                run(end.node, *command)
        for end in ends:
            settings = end.settings(place, bearers)
            self._elements.append(NodeElement(end.node, settings, self._run.name))
        for element in self._elements:
            element.wait_ready()
        self.restart()

    def _set(self, leg: int, state: str) -> None:
        if leg not in range(1, len(self.legs) + 1):
            raise TopologyError(f"leg {leg}: allowed are 1 to {len(self.legs)}")
        for interface in (self.legs[leg - 1].gnb, self.legs[leg - 1].ue):
            interface.ifconfig(state)


def addDualConnectivity(  # noqa: N802 - as Mininet's own addHost, addLink
    net: Mininet,
    gnb: Node | str,
    ue: Node | str,
    legs: Sequence[Parameters | None] | None = None,
    **options: Any,
) -> DualConnectivity:
    """Put a split bearer between two hosts, for their traffic and that of hosts behind them.

    Args:
        net: has its hosts and links; it is built (`net.build()`) unless it was.
        gnb: the host on the network's side.
        ue: the one on the terminal's, which sends there what it has no other route for.
        legs: the parameters of each, which are those of a `RadioLink` (bw, delay, trace, ...) and
            `uplink` or `downlink` with what differs there: the element is this leg, over a plain
            link. None: the leg is what its link is. Without: all links between both hosts are legs,
            as they are. Where there are none, plain ones are made.
        options: `ends`, pairs of interfaces' names, for legs that cannot be found by themselves;
            `split_uplink` (True; False: the uplink takes the first leg), `uplink_pdcp` (as the
            downlink's); `directory` for time series (none are kept); `seed` (1); `plugins`. All
            others are fields of PDCP (docs/scenarios.md): split, batch, ratio, t_reordering_ms, ...

    Raises:
        TopologyError: it cannot be so; the message says why.
    """
    hosts = [net[host] if isinstance(host, str) else host for host in (gnb, ue)]
    if legs is not None and "ends" not in options and not find_legs(*hosts):
        for _ in legs:
            net.addLink(*hosts, cls=Link)
    if not net.built:
        net.build()
    made = DualConnectivity(hosts[0], hosts[1], legs, **options)
    net.links.append(made)
    return made


class Gnb(TestbedHost):
    """The network's end of a bearer in a topology; the other end is the `Ue` at its links."""

    def __init__(self, name: str, *arguments: Any, **parameters: Any) -> None:
        """Make the host with Mininet's arguments; no bearer runs yet."""
        self.dual_connectivity: DualConnectivity | None = None
        self.configured = False
        super().__init__(name, *arguments, **parameters)

    def config(  # type: ignore[override]
        self, forward: bool = True, dual_connectivity: Any = None, **parameters: Any
    ) -> Any:
        """Configure the host; the one of both that is configured last starts the bearer."""
        configured = super().config(forward=forward, **parameters)
        self.configured = True
        if isinstance(self, Ue):
            self.arguments = dual_connectivity or {}
        other = _partner(self)
        if other is not None and other.configured and self.dual_connectivity is None:
            gnb, ue = (other, self) if isinstance(self, Ue) else (self, other)
            DualConnectivity(gnb, ue, **{"planned": True, **ue.arguments})
        return configured

    def terminate(self) -> None:
        """End the bearer, then the host."""
        if self.dual_connectivity is not None:
            self.dual_connectivity.stop()
        super().terminate()


class Ue(Gnb):
    """The terminal's end, which also has the parameters of the bearer.

    Its parameter `dual_connectivity` is a dictionary of arguments of `addDualConnectivity`.
    """

    arguments: Parameters


def find_legs(gnb: Node, ue: Node) -> list[tuple[Intf, Intf]]:
    """Return the pairs of interfaces between two hosts, over a link or over switches.

    Raises:
        TopologyError: an interface could be of several legs.
    """
    pairs = [(near, far) for near in gnb.intfList() for far in neighbours(near) if far.node is ue]
    for side in zip(*pairs):  # noqa: B905 - pairs all
        doubtful = [end for end in side if side.count(end) > 1]
        if doubtful:
            raise TopologyError(
                f"{doubtful[0]} could be the end of several legs; name them: "
                f"ends=[({str(pairs[0][0])!r}, {str(pairs[0][1])!r}), ...]"
            )
    return pairs


def make_legs(
    pairs: Sequence[tuple[Intf, Intf]], given: Sequence[Parameters | None] | None
) -> list[LegInterfaces]:
    """Return the legs between these interfaces, with their parameters.

    Raises:
        TopologyError: there are too few or too many, or a parameter is wrong.
    """
    if not pairs:
        raise TopologyError("no leg: there is no link between both hosts, nor legs=[...]")
    if not isinstance(given, (list, tuple, type(None))):
        raise TopologyError(
            f"legs={given!r:.80}: allowed are lists with a dictionary or None for each leg"
        )
    legs = [None] * len(pairs) if given is None else list(given)
    if len(legs) != len(pairs) or len(pairs) > MAX_LEGS:
        raise TopologyError(
            f"legs: {len(legs)} for {len(pairs)} links between both hosts; allowed: one for each "
            f"link, up to {MAX_LEGS}"
        )
    return [
        LegInterfaces(
            number, *pair, _direction(number, leg, "downlink"), _direction(number, leg, "uplink")
        )
        for number, (pair, leg) in enumerate(zip(pairs, legs), start=1)  # noqa: B905
    ]


def _plugins(given: Any) -> list[str]:
    plugins = [given] if isinstance(given, (str, Path)) else given or []
    if isinstance(plugins, (list, tuple)) and all(isinstance(one, (str, Path)) for one in plugins):
        return [str(one) for one in plugins]
    raise TopologyError(f"plugins={given!r:.80}: allowed are paths of files, in a list")


def _direction(number: int, leg: Parameters | None, direction: str) -> dict[str, Any] | None:
    """Return the settings of one direction of a leg, None if the leg is not the element's."""
    if leg is None:
        return None
    for part in (leg, (leg.get(direction) or {}) if isinstance(leg, Mapping) else {}):
        if not isinstance(part, Mapping):
            raise TopologyError(
                f"leg {number}: {part!r:.80}: allowed are dictionaries of a radio link's parameters"
            )
    both = {name: value for name, value in leg.items() if name not in ("downlink", "uplink")}
    try:
        return radio_settings(both | dict(leg.get(direction) or {}))
    except TopologyError as problem:
        raise TopologyError(f"leg {number}: {problem}") from None


def _named(gnb: Node, ue: Node, ends: Sequence[tuple[str, str]]) -> list[tuple[Intf, Intf]]:
    for node, names in ((gnb, [near for near, _ in ends]), (ue, [far for _, far in ends])):
        unknown = [name for name in names if name not in node.nameToIntf]
        if unknown:
            known = ", ".join(node.nameToIntf)
            raise TopologyError(f"ends: {unknown[0]!r} is no interface of {node}: {known}")
    return [(gnb.nameToIntf[near], ue.nameToIntf[far]) for near, far in ends]


def _partner(node: Node) -> Any:
    """Return the other end at a host's links, of a Gnb the Ue, of a Ue the Gnb; None: no host."""
    wants_ue = not isinstance(node, Ue)
    hosts = (far.node for near in node.intfList() for far in neighbours(near))
    ends = (host for host in hosts if isinstance(host, Gnb) and isinstance(host, Ue) == wants_ue)
    return next(ends, None)
