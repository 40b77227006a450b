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
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mininet.link import Intf, Link, OVSLink, TCLink, TCULink
from mininet.log import error

if not __package__:  # mn runs this file outside its package, and compiles it by its name
    sys.path.append(str(Path(sys._getframe().f_code.co_filename).resolve().parents[1]))
    __package__ = "topologies"

from .element_process import NEEDS, READY, HostProcess, TopologyError, interpreter

PROCESS = "minitopo_dc.real.element.radio_link"
SEED = 1
KERNEL_PARAMETERS = ("use_hfsc", "use_htb", "use_tbf", "gro", "disable_gro", "txo", "rxo")
"""TCLink's choices among the kernel's own shapers and offloads: there are none here to choose.
`use_htb` names its default, as Mininet's own examples do."""
UNSUPPORTED_PARAMETERS = ("speedup", "latency_ms", "enable_ecn", "enable_red")
"""Parameters of TCLink that would change what packets meet, and that no leg has."""


def radio_settings(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return a leg's settings (docs/scenarios.md), which its process checks, from parameters.

    Args:
        parameters: of :class:`RadioIntf`; None means not given.

    Raises:
        TopologyError: a parameter is unknown, or a value none of any file, or a time without unit.
    """
    if unknown := parameters.keys() - _FIELDS.keys():
        names = ", ".join(sorted(map(repr, unknown)))
        raise TopologyError(f"unknown parameter {names}; known: {', '.join(_FIELDS)}")
    own = {name: value for name, value in parameters.items() if value is not None}
    if isinstance(own.get("trace"), (str, Path)):
        own["trace"] = os.path.abspath(own["trace"])  # noqa: PTH100 - the process names a wrong one
    settings = {_FIELDS[name]: _value(name, value) for name, value in in_json(own).items()}
    if settings.keys().isdisjoint(("rate_mbps", "trace")):
        settings["rate_mbps"] = 1e6  # TCLink without bw has no limit, and this is too fast to tell
    return _DEFAULTS | settings


def _value(name: str, value: Any) -> Any:
    if name in ("delay", "jitter") and abs(number(value)) > 0:  # which tc(8) takes for us
        raise TopologyError(
            f"{name}={value!r:.80}: allowed are times with a unit: 15ms, 0.5s, 800us"
        )
    if name != "burst_loss" or isinstance(value, dict):
        return value
    parts = value if isinstance(value, list) else str(value).split(":")
    # As netem's gemodel: p and r, then perhaps h and k; one too many is an unknown field.
    return {"prhk"[place : place + 1] or str(place): part for place, part in enumerate(parts)}


def in_json(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values by name as JSON has them, NumPy's as Python's.

    Raises:
        TopologyError: JSON has no such value.
    """
    made = {}
    for name, value in values.items():
        try:
            written = json.dumps(value, default=lambda given: given.tolist(), allow_nan=False)
        except (AttributeError, TypeError, ValueError, RecursionError):
            raise TopologyError(
                f"{name}={value!r:.80}: allowed are numbers, text, lists and dictionaries of them"
            ) from None
        made[name] = json.loads(written)
    return made


def plain(value: Any) -> Any:
    """Return a value of NumPy as Python's own: a number, a bool or a list; others as they are."""
    return value.tolist() if hasattr(value, "tolist") else value


def number(value: Any) -> float:
    """Return the number that a value or a text in digits is, NaN if it is none; a bool is none."""
    value = plain(value)
    is_other = isinstance(value, str) and not _NUMBER.fullmatch(value.strip())
    try:
        return math.nan if is_other or isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):  # none at all, a signalling NaN, too large
        return math.nan


_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_FIELDS = {
    "bw": "rate_mbps",
    "delay": "delay_ms",
    "jitter": "jitter_ms",
    "loss": "loss_percent",
    "max_queue_size": "queue_packets",
    "jitter_model": "jitter",
    **{name: name for name in ("reorder", "burst_loss", "rlc", "trace", "trace_column")},
    **{name: name for name in ("trace_time_column", "end")},
}
"""Each parameter's field of a leg."""
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
            for name, field in _FIELDS.items():
                answer = answer.replace(f": radio.{field}: ", f": {name}: ")
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
