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

import json
import math
import select
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mininet.link import Intf, Link, OVSLink, TCLink, TCULink
from mininet.log import error

if __package__:
    from minitopo_dc.topologies.parameter_values import in_json, number, plain, truth
else:  # mn runs this file outside its package, and compiles it by its name
    sys.path.append(str(Path((lambda: 0).__code__.co_filename).resolve().parent))
    from parameter_values import (  # type: ignore[import-not-found, no-redef]
        in_json,
        number,
        plain,
        truth,
    )

# mn runs this file without a __file__, but compiles it by its name.
HERE = Path((lambda: 0).__code__.co_filename).resolve()
PROCESS = "minitopo_dc.real.element.radio_link"
PATIENCE_S = 30
"""For an answer of the process: importing takes about 1 s on one busy core."""
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
KERNEL_PARAMETERS = ("use_hfsc", "use_tbf", "gro", "disable_gro", "txo", "rxo")
"""TCLink's choices among the kernel's own shapers and offloads: there are none here to choose."""
UNSUPPORTED_PARAMETERS = ("speedup", "latency_ms", "enable_ecn", "enable_red")
"""Parameters of TCLink that would change what packets meet, and that no leg has."""


class RadioLinkError(Exception):
    """Error: a parameter is wrong, or the link's process cannot run; the message says which."""


def radio_settings(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return a leg's settings (docs/scenarios.md) from a radio link's parameters.

    Args:
        parameters: of :class:`RadioIntf`; None means not given.

    Raises:
        RadioLinkError: a parameter is unknown, or a value none of its parameter.
    """
    if unknown := parameters.keys() - _FIELDS.keys():
        names = ", ".join(sorted(map(repr, unknown)))
        raise RadioLinkError(f"unknown parameter {names}; known: {', '.join(_FIELDS)}")
    given = {name: value for name, value in parameters.items() if value is not None}
    settings = {_FIELDS[name][0]: _FIELDS[name][1](name, value) for name, value in given.items()}
    if "rate_mbps" in settings and "trace" in settings:
        raise RadioLinkError("give bw or trace, not both")
    if "loss_percent" in settings and "burst_loss" in settings:
        raise RadioLinkError("give loss or burst_loss, not both")
    if settings.keys().isdisjoint(("rate_mbps", "trace")):
        settings["rate_mbps"] = 1e6  # TCLink without bw has no limit, and this is too fast to tell
    return _DEFAULTS | settings


def _rate(name: str, value: Any) -> float:
    """Return a rate in Mbit/s: a number as TCLink's, or text with a unit of bits."""
    rate = number(value, RATES_MBPS)
    if not 0 < rate < math.inf:
        raise _refused(name, value, "numbers above 0 (Mbit/s), and text as 10mbit, 5Mbps, 500kbit")
    return rate


def _percent(name: str, value: Any) -> float:
    percent = number(value, {"%": 1})
    if not 0 <= percent <= 100:
        raise _refused(name, value, "0 to 100 (percent)")
    return percent


def _packets(name: str, value: Any) -> int:
    """Return a whole number, also one that arithmetic has made a float (40.0)."""
    packets = number(value)
    if not (1 <= packets <= MAX_PACKETS and packets.is_integer()):
        raise _refused(name, value, f"whole numbers from 1 to {MAX_PACKETS} (packets)")
    return int(packets)


def _milliseconds(name: str, value: Any) -> float:
    """Return a time with its unit in ms; without one tc(8) means us and a scenario ms."""
    if number(value) == 0:
        return 0.0
    time = number(value.lower(), DELAYS_MS) if isinstance(value, str) else math.nan
    if not 0 <= time < math.inf or not math.isnan(number(value)):
        raise _refused(name, value, "times with a unit: 15ms, 0.5s, 800us")
    return time


def _burst_loss(name: str, value: Any) -> dict[str, float]:
    """Return Gilbert-Elliott's probabilities, as netem's gemodel: p and r, then perhaps h and k."""
    value = plain(value)
    given = value.split(":") if isinstance(value, str) else value
    numbers = [number(one) for one in given] if isinstance(given, (list, tuple)) else []
    if not 2 <= len(numbers) <= 4 or not all(0 <= one <= 1 for one in numbers):
        raise _refused(name, value, "p:r, p:r:h and p:r:h:k, each from 0 to 1")
    return dict(zip("prhk", numbers))  # noqa: B905


def _path(name: str, value: Any) -> str:
    if not isinstance(value, (str, Path)) or "\0" in str(value):
        raise _refused(name, value, "paths of files")
    return str(Path(value).resolve())


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise _refused(name, value, "names of columns, as text")
    return str(value)


def _jitter_model(name: str, value: Any) -> str:
    return _one_of(name, value, ("normal", "uniform"))


def _end(name: str, value: Any) -> str:
    return _one_of(name, value, ("loop", "hold", "stop"))


def _one_of(name: str, value: Any, allowed: Sequence[str]) -> str:
    if not isinstance(value, str) or value not in allowed:
        raise _refused(name, value, ", ".join(repr(one) for one in allowed))
    return str(value)


def _reorder(name: str, value: Any) -> bool:
    if (reorder := truth(value)) is None:
        raise _refused(name, value, "True and False")
    return reorder


def _rlc(name: str, value: Any) -> dict[str, Any]:
    """Return RLC's fields as JSON has them; the process checks each."""
    fields = in_json(value)
    if not isinstance(fields, dict):
        raise _refused(name, value, "dictionaries of RLC's fields (docs/radio-legs.md)")
    return fields


def _refused(name: str, value: Any, allowed: str) -> RadioLinkError:
    return RadioLinkError(f"{name}={value!r:.80}: allowed are {allowed}")


_FIELDS = {
    "bw": ("rate_mbps", _rate),
    "delay": ("delay_ms", _milliseconds),
    "jitter": ("jitter_ms", _milliseconds),
    "loss": ("loss_percent", _percent),
    "max_queue_size": ("queue_packets", _packets),
    "jitter_model": ("jitter", _jitter_model),
    "reorder": ("reorder", _reorder),
    "burst_loss": ("burst_loss", _burst_loss),
    "trace": ("trace", _path),
    "trace_column": ("trace_column", _text),
    "trace_time_column": ("trace_time_column", _text),
    "end": ("end", _end),
    "rlc": ("rlc", _rlc),
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
            raise RadioLinkError(f"{name}: a RadioIntf is an end of a RadioLink, not of {link}")
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
                ('loop', 'hold', 'stop'), rlc (a dictionary of RLC's fields, docs/radio-legs.md; of
                them only block_error_percent may change). And Mininet's own (ip, mac, ...).

        Raises:
            RadioLinkError: a parameter is unknown, or its value wrong.
        """
        own = {name: params.pop(name) for name in _FIELDS if name in params}
        self._check_others(params)
        if own or self._radio is None:
            self._change({name: value for name, value in own.items() if value is not None})
        return super().config(**params)

    def statistics(self) -> dict[str, Any]:
        """Return counters of what this interface has sent (docs/legs.md), and kernel drops."""
        found: dict[str, Any] = json.loads(self.link.ask("statistics"))[self.name]
        return found

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
        except RadioLinkError as problem:
            raise RadioLinkError(f"{self.name}: {problem}") from None
        order = {"interface": self.name, "seed": self._seed, "radio": settings}
        answer = self.link.ask(json.dumps(order))
        if answer != "ok":
            raise RadioLinkError(answer)
        self._radio = radio

    def _check_others(self, params: dict[str, Any]) -> None:
        for name in KERNEL_PARAMETERS:
            params.pop(name, None)
        for name in UNSUPPORTED_PARAMETERS:
            if params.pop(name, None):
                raise RadioLinkError(f"{self.name}: {name}: a radio link has no such property")
        unknown = params.keys() - {"mac", "ip", "ifconfig", "up"}
        if unknown:
            raise RadioLinkError(
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
        except RadioLinkError:
            self._end()
            raise

    def makeIntfPair(  # noqa: N802
        self, name1: str, name2: str, mac1: str, mac2: str, *_: Any, **__: Any
    ) -> None:
        """Start the process that makes both interfaces and carries frames between them."""
        self._name = f"{name1}<->{name2}"
        ends = zip((name1, name2), self._nodes, (mac1, mac2))  # noqa: B905
        arguments = [f"{name},{node.pid},{mac or ''}" for name, node, mac in ends]
        self._process = subprocess.Popen(
            [interpreter(), "-P", "-m", PROCESS, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # a Ctrl-C of the terminal is Mininet's, which ends us in order
        )
        answer = self._answer()
        if answer != "ready":
            raise RadioLinkError(f"{self._name}: {answer}")

    def restart(self) -> None:
        """Restart the traces: make now their time zero, which was when the link was made."""
        self.ask("start")

    def ask(self, order: str) -> str:
        """Send an order to the process and return its answer.

        Raises:
            RadioLinkError: it has ended.
        """
        orders = self._process.stdin
        assert orders is not None
        try:
            orders.write(order.encode() + b"\n")
            orders.flush()
        except BrokenPipeError:
            pass  # the answer says so
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
        except RadioLinkError as problem:
            error(f"*** {problem}\n")
        self._end()
        super().delete()

    def _end(self) -> None:
        """End the process by the end of its standard input."""
        try:
            self._process.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()

    def _answer(self) -> str:
        answers = self._process.stdout
        assert answers is not None
        if not select.select([answers], (), (), PATIENCE_S)[0]:
            self._process.kill()
            raise RadioLinkError(f"{self._name}: its process does not answer")
        line = answers.readline().decode().strip()
        if not line:
            raise RadioLinkError(
                f"{self._name}: its process ended with {self._process.wait()}; its words are above "
                f"({interpreter()} -m {PROCESS}; that Python needs minitopo-dc: docs/setup.md)"
            )
        return line


def interpreter() -> str:
    """Return the Python that has minitopo-dc."""
    in_checkout = HERE.parents[1] / ".venv"
    installed_in = HERE.parents[5:6]  # below it: lib/python3.N/site-packages/minitopo_dc/topologies
    for environment in (in_checkout, *installed_in):
        if (environment / "pyvenv.cfg").is_file():
            return str(environment / "bin" / "python")
    return sys.executable


LINKS = {"default": Link, "tc": TCLink, "tcu": TCULink, "ovs": OVSLink, "radio": RadioLink}
"""Mininet 2.3.0's mn means to read `links` of a custom file, but a missing comma hides it; any
other name replaces the variable of that name in mn. So this is its whole table of links."""
