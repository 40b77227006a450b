"""A Mininet link with a radio link's properties: TCLink's parameters and more, on any kernel.

    Mininet(topo=..., link=RadioLink)
    net.addLink(h1, h2, cls=RadioLink, bw=10, delay="15ms", loss=1)
    mn --custom topologies/radio_link.py --link radio,bw=10,delay=15ms,loss=1
    mn --custom topologies/two_path.py,topologies/radio_link.py --topo two_path --link radio,bw=10

Between hosts, routers and switches alike, each parameter for what an interface sends, as with
TCLink. No netem is needed: a process of minitopo-dc in user space carries the frames of one link
(`minitopo_dc.real.element.radio_link`). It starts with the link and ends with it, or with this
program.

Like every file here this imports Mininet and this folder only, so that Mininet's own `mn` can read
it. The process needs minitopo-dc: its Python is that of the checkout's `.venv`,
of the environment that this file is installed in, or else this program's.
"""

from __future__ import annotations

import contextlib
import json
import math
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from mininet.link import Intf, Link, OVSLink, TCLink, TCULink
from mininet.log import error

if not __package__:  # mn runs this file outside its package, and compiles it by its name
    sys.path.append(str(Path(sys._getframe().f_code.co_filename).resolve().parents[1]))
    __package__ = "topologies"

from .element_process import NEEDS, READY, HostProcess, TopologyError, interpreter
from .parameter_values import in_json, number, plain, truth

PROCESS = "minitopo_dc.real.element.radio_link"
SEED = 1
MAX_PACKETS = 10**9
"""As a leg's settings have it (docs/scenarios.md)."""
DELAYS_MS = {
    f"{unit}{end}": size
    for unit, size in {"s": 1e3, "ms": 1.0, "us": 1e-3, "ns": 1e-6}.items()
    for end in ("", "ec", "ecs")
}
"""The units of time of tc(8), which have no case there."""
RATES_MBPS = {
    prefix + unit: size
    for letter, size in {"": 1e-6, "k": 1e-3, "m": 1.0, "g": 1e3}.items()
    for prefix in {letter, letter.upper()}
    for unit in ("bit", "Bit", "bit/s", "Bit/s", "bps", "b/s")
}
"""Units of bits. A letter B is a byte, which no parameter is of: 5MBps is refused."""
KERNEL_PARAMETERS = ("use_hfsc", "use_htb", "use_tbf", "gro", "disable_gro", "txo", "rxo")
"""TCLink's choices among the kernel's own shapers and offloads: there are none here to choose.
`use_htb` names its default, as Mininet's own examples do."""
UNSUPPORTED_PARAMETERS = ("speedup", "latency_ms", "enable_ecn", "enable_red")
"""Parameters of TCLink that would change what packets meet, and that no leg has."""


def radio_settings(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return a leg's settings (docs/scenarios.md) from a radio link's parameters.

    Args:
        parameters: of :class:`RadioIntf`; None means not given.

    Raises:
        TopologyError: a parameter is unknown, or a value none of its parameter.
    """
    if unknown := parameters.keys() - _FIELDS.keys():
        names = ", ".join(sorted(map(repr, unknown)))
        raise TopologyError(f"unknown parameter {names}; known: {', '.join(_FIELDS)}")
    settings: dict[str, Any] = {}
    for name, value in parameters.items():
        if value is not None:
            key, field = _FIELDS[name]
            settings[key] = field.read(value)
            if settings[key] is None:
                raise TopologyError(f"{name}={value!r:.80}: allowed are {field.allowed}")
    if "rate_mbps" in settings and "trace" in settings:
        raise TopologyError("give bw or trace, not both")
    if "loss_percent" in settings and "burst_loss" in settings:
        raise TopologyError("give loss or burst_loss, not both")
    if settings.keys().isdisjoint(("rate_mbps", "trace")):
        settings["rate_mbps"] = 1e6  # TCLink without bw has no limit, and this is too fast to tell
    return _DEFAULTS | settings


def _rate(value: Any) -> float | None:
    """Return a rate in Mbit/s: a number as TCLink's, or text with a unit of bits."""
    rate = number(value, RATES_MBPS)
    return rate if 0 < rate < math.inf else None


def _percent(value: Any) -> float | None:
    percent = number(value, {"%": 1})
    return percent if 0 <= percent <= 100 else None


def _packets(value: Any) -> int | None:
    """Return a whole number, also one that arithmetic has made a float (40.0)."""
    packets = number(value)
    return int(packets) if 1 <= packets <= MAX_PACKETS and packets.is_integer() else None


def _milliseconds(value: Any) -> float | None:
    """Return a time with its unit in ms; without one tc(8) means us and a scenario ms."""
    if number(value) == 0:
        return 0.0
    time = number(value.lower(), DELAYS_MS) if isinstance(value, str) else math.nan
    return time if 0 <= time < math.inf and math.isnan(number(value)) else None


def _burst_loss(value: Any) -> dict[str, float] | None:
    """Return Gilbert-Elliott's probabilities, as netem's gemodel: p and r, then perhaps h and k."""
    value = plain(value)
    given = value.split(":") if isinstance(value, str) else value
    numbers = [number(one) for one in given] if isinstance(given, (list, tuple)) else []
    if not 2 <= len(numbers) <= 4 or not all(0 <= one <= 1 for one in numbers):
        return None
    return dict(zip("prhk", numbers))  # noqa: B905


def _path(value: Any) -> str | None:
    if not isinstance(value, (str, Path)) or "\0" in str(value):
        return None
    return str(Path(value).resolve())


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _one_of(*allowed: str) -> Field:
    """Return how one of some words is read."""
    words = ", ".join(repr(one) for one in allowed)
    return Field(
        lambda value: value if isinstance(value, str) and value in allowed else None, words
    )


def _rlc(value: Any) -> dict[str, Any] | None:
    """Return RLC's fields as JSON has them; the process checks each."""
    fields = in_json(value)
    return fields if isinstance(fields, dict) else None


class Field(NamedTuple):
    """How a parameter is read: None is what it does not allow; and what it allows, in words."""

    read: Callable[[Any], Any]
    allowed: str


_RATE = Field(_rate, "numbers above 0 (Mbit/s), and text as 10mbit, 5Mbps, 500kbit")
_TIME = Field(_milliseconds, "times with a unit: 15ms, 0.5s, 800us")
_COLUMN = Field(_text, "names of columns, as text")
_FIELDS = {
    "bw": ("rate_mbps", _RATE),
    "delay": ("delay_ms", _TIME),
    "jitter": ("jitter_ms", _TIME),
    "loss": ("loss_percent", Field(_percent, "0 to 100 (percent)")),
    "max_queue_size": (
        "queue_packets",
        Field(_packets, f"whole numbers from 1 to {MAX_PACKETS} (packets)"),
    ),
    "jitter_model": ("jitter", _one_of("normal", "uniform")),
    "reorder": ("reorder", Field(truth, "True and False")),
    "burst_loss": ("burst_loss", Field(_burst_loss, "p:r, p:r:h and p:r:h:k, each from 0 to 1")),
    "trace": ("trace", Field(_path, "paths of files")),
    "trace_column": ("trace_column", _COLUMN),
    "trace_time_column": ("trace_time_column", _COLUMN),
    "end": ("end", _one_of("loop", "hold", "stop")),
    "rlc": ("rlc", Field(_rlc, "dictionaries of RLC's fields (docs/radio-legs.md)")),
}
"""Each parameter's field of a leg, and how its value is read."""
_DEFAULTS = {"delay_ms": 0, "jitter_ms": 0}
"""As of TCLink, what is not named is not there; the rest has a leg's defaults (docs/scenarios.md),
which the process fills in."""
_ALTERNATIVES = {"bw": "trace", "trace": "bw", "loss": "burst_loss", "burst_loss": "loss"}
"""Naming one of a pair takes the other's place."""


class RadioIntf(Intf):  # type: ignore[misc]
    """One end of a radio link; its parameters are those of what it sends."""

    link: RadioLink

    def __init__(
        self, name: str, node: Any = None, link: Any = None, seed: Any = SEED, **params: Any
    ) -> None:
        """Make the interface as Mininet does; losses and jitter are drawn from `seed` and name."""
        if not isinstance(link, RadioLink):
            raise TopologyError(f"{name}: a RadioIntf is an end of a RadioLink, not of {link}")
        self._radio: dict[str, Any] | None = None
        self._seed = f"{SEED if seed is None else seed}/{name}"
        super().__init__(name, node=node, link=link, **params)

    def config(self, **params: Any) -> Any:
        """Configure addresses as Mininet does, and the radio; call it again to change that.

        A later call changes what it names and nothing else: bw or trace, delay, jitter, loss or
        burst_loss. Packets in the queue stay there.

        Args:
            params: TCIntf's bw (Mbit/s of IP packets), delay, jitter (times with a unit), loss
                (percent), max_queue_size (packets that wait or are being sent; 100). Further:
                jitter_model ('normal', 'uniform'), reorder (whether jitter may reorder packets, as
                netem's does; False), burst_loss ('p:r:h:k', Gilbert-Elliott), trace (a file with
                the capacity over time, docs/traces.md) with trace_column, trace_time_column and end
                ('loop', 'hold', 'stop'), rlc (RLC's fields, docs/radio-legs.md, of which only
                block_error_percent may change). And Mininet's own (ip, mac, ...).

        Raises:
            TopologyError: a parameter is unknown, or its value wrong.
        """
        own = {name: params.pop(name) for name in _FIELDS if name in params}
        self._check_others(params)
        if own or self._radio is None:
            self._change({name: value for name, value in own.items() if value is not None})
        return super().config(**params)

    def statistics(self) -> dict[str, Any]:
        """Return counters of what this interface has sent (docs/legs.md), and kernel drops."""
        return dict(json.loads(self.link.ask("statistics"))[self.name])

    def delete(self) -> None:
        """Forget the interface: it goes with the link's process."""
        self.node.delIntf(self)
        self.link = None  # type: ignore[assignment]

    def _change(self, own: Mapping[str, Any]) -> None:
        replaced = {_ALTERNATIVES.get(name) for name in own}
        kept = {name: v for name, v in (self._radio or {}).items() if name not in replaced}
        radio = kept | dict(own)
        try:
            settings = radio_settings(radio)
        except TopologyError as problem:
            raise TopologyError(f"{self.name}: {problem}") from None
        order = {"interface": self.name, "seed": self._seed, "radio": settings}
        answer = self.link.ask(json.dumps(order))
        if answer != "ok":
            raise TopologyError(answer)
        self._radio = radio

    def _check_others(self, params: dict[str, Any]) -> None:
        for name in KERNEL_PARAMETERS:
            params.pop(name, None)
        for name in UNSUPPORTED_PARAMETERS:
            if params.pop(name, None):
                raise TopologyError(f"{self.name}: {name}: a radio link has no such property")
        unknown = params.keys() - {"mac", "ip", "ifconfig", "up"}
        if unknown:
            raise TopologyError(
                f"{self.name}: unknown parameter {', '.join(sorted(unknown))}; known: "
                f"{', '.join([*_FIELDS, 'seed'])}, and Mininet's mac, ip, ifconfig, up"
            )


class RadioLink(Link):  # type: ignore[misc]
    """A Mininet link between two `RadioIntf`."""

    def __init__(self, node1: Any, node2: Any, **params: Any) -> None:
        """Make the link; `params` are Link's and RadioIntf's."""
        self._nodes = node1, node2
        for cls in ("cls1", "cls2"):
            if params.get(cls) is None:
                params[cls] = RadioIntf
        try:
            # fast: both interfaces are made where they belong, instead of being moved there.
            super().__init__(node1, node2, **(params | {"fast": True}))
        except TopologyError:
            self._process.end()
            raise

    def makeIntfPair(  # noqa: N802
        self, name1: str, name2: str, mac1: str, mac2: str, *_: Any, **__: Any
    ) -> None:
        """Start the process that makes both interfaces and carries frames between them."""
        self._name = f"{name1}<->{name2}"
        ends = zip((name1, name2), self._nodes, (mac1, mac2))  # noqa: B905
        arguments = [f"{name},{node.pid},{mac or ''}" for name, node, mac in ends]
        self._process = HostProcess(PROCESS, *arguments)
        answer = self._answer()
        if answer != READY:
            raise TopologyError(f"{self._name}: {answer}")

    def restart(self) -> None:
        """Restart the traces: make now their time zero, which was when the link was made."""
        self.ask("start")

    def ask(self, order: str) -> str:
        """Send an order to the process and return its answer.

        Raises:
            TopologyError: it has ended.
        """
        with contextlib.suppress(BrokenPipeError):  # the answer says so
            self._process.write(order)
        return self._answer()

    def delete(self) -> None:
        """End the process, and with it the interfaces; report a machine that was too slow."""
        try:
            for name, counters in json.loads(self.ask("statistics")).items():
                if counters["kernel_drops"]:
                    error(
                        f"*** {name}: the kernel dropped {counters['kernel_drops']} packets: "
                        "the machine is too slow for this rate\n"
                    )
        except TopologyError as problem:
            error(f"*** {problem}\n")
        self._process.end()
        super().delete()

    def _answer(self) -> str:
        line = self._process.read()
        if line is None:
            self._process.process.kill()
            raise TopologyError(f"{self._name}: its process does not answer")
        if not line:
            raise TopologyError(
                f"{self._name}: its process ended with {self._process.process.wait()}; its words "
                f"are above ({interpreter()} -m {PROCESS}; {NEEDS})"
            )
        return line


LINKS = {"default": Link, "tc": TCLink, "tcu": TCULink, "ovs": OVSLink, "radio": RadioLink}
"""Mininet 2.3.0's mn means to read `links` of a custom file, but a missing comma hides it; any
other name replaces the variable of that name in mn. So this is its whole table of links."""
