"""What stands on the page: words of options of `compare`, read by the same functions.

The same words are the page's address, the command line to copy and the scenarios that are run.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pprint import pformat
from typing import Any, Final, NoReturn, Self
from urllib.parse import parse_qsl, quote, urlencode

from minitopo_dc.cli.commands import compared
from minitopo_dc.cli.options import BOTH, CHOSEN, SPLIT, add_options, check_repetitions, listed
from minitopo_dc.cli.options.rows import base_scenario, compared_ways
from minitopo_dc.cli.options.scenario import leg_settings
from minitopo_dc.fields import SettingsError
from minitopo_dc.fields.ranges import UPLINK_MBPS
from minitopo_dc.fields.yaml_text import dump_yaml
from minitopo_dc.installation import shipped
from minitopo_dc.scenario import Leg, LegDirection, Scenario
from minitopo_dc.scenario.presets import FIELDS, XN_MS

START: Final = {"legs": ("40", "30"), "delay": ("10", "40"), "size": ("5",)}
"""Where both legs are worth having, and the ways differ; of whoever names no legs."""
USUAL: Final = {"transports": ("quic-picoquic", "mpquic-picoquic"), "repetitions": ("3",)}
"""What the page has in place of the defaults of `compare`: what answers in a second."""
TRACES: Final = {path.stem: str(path) for path in sorted(shipped("traces").glob("lte_*.csv"))}
CARRIERS: Final = (
    *("lte-5", "lte-10", "lte-15", "lte-20", "nr-fdd-20", "nr-tdd-40", "nr-tdd-80", "nr-tdd-100"),
    *("nr-mmwave-100", "nr-mmwave-400"),
)
T_REORDERING: Final = "pdcp.t_reordering_ms"
REPEATED: Final = "set"
"""The option that is given once for each of its values."""
UNSHARED: Final = "plugin"
"""The option that no address has: it names a program, and a link may be a stranger's."""
OPTION = re.compile(r"--([a-z-]+)")
OF_LEG = re.compile(r"legs\.(\d+)(?:, legs\.\d+)*(?:\.\w+link)?[.:] ?(\w+)")
PLACES: Final = {
    **{"rate_mbps": "legs", "trace": "legs", "carrier": "legs"},
    **{field: name for name, field in BOTH.items()},
}
"""The options of a leg's fields."""
FIELD = re.compile(r"(?:\w+: |--set )?((?:pdcp\.)?\w+)")
OF_FIELD: Final = {
    **{"workload": "workload", "congestion_control": "congestion-control", "seed": "seed"},
    **{"trace": "legs", "pdcp.flow_control": "xn", "pdcp.t_reordering_ms": T_REORDERING},
}
"""The options of other fields of a scenario, and what a message about a trace begins with."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise SettingsError(message.removeprefix("argument "))


@cache
def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="explore", add_help=False, allow_abbrev=False)
    add_options(parser, compared(",".join(START["legs"])))
    return parser


@cache
def _options() -> Mapping[str, argparse.Action]:
    """Return the options of a comparison by their names without dashes."""
    actions = (action for action in _parser()._actions if action.option_strings)
    return {action.option_strings[0].removeprefix("--"): action for action in actions}


@dataclass(frozen=True)
class Form:
    """Options of a comparison by their names, each with its words; those left out have defaults."""

    words: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(cls, arguments: argparse.Namespace) -> Self:
        """Return what a command line says, and for what it leaves out what the page begins with."""
        given = {
            name: value
            for name, action in _options().items()
            if (value := getattr(arguments, action.dest)) != action.default
        }
        file = getattr(arguments, "scenario", None)
        return cls.of_values(None if file is None else Scenario.load(file), given)

    @classmethod
    def of_values(cls, legs: Sequence[Leg] | Scenario | None, options: Mapping[str, Any]) -> Self:
        """Return the form of Python's values: legs or a scenario, and options with `_` for `-`.

        Raises:
            SettingsError: there is no such option, or the legs need more than options have.
        """
        given: dict[str, tuple[str, ...]] = {}
        for key, value in options.items():
            name = key.replace("_", "-")
            if name not in _options():
                raise SettingsError(f"{key}: allowed: {', '.join(_options())}")
            given[name] = tuple(map(_plain, value if isinstance(value, list | tuple) else [value]))
        usual = dict(USUAL)
        if "stacks" in given:
            del usual["transports"]
        if isinstance(legs, Scenario):
            words = _words_of(legs)
        elif legs is not None:
            words = words_of_legs(legs)
        else:
            words = {} if {"legs", "delay"} & given.keys() else dict(START)
        if "workload" in given:
            words.pop("size", None)
        fields = (*words.get(REPEATED, ()), *given.get(REPEATED, ()))
        last = {field.partition("=")[0]: field for field in fields}
        return cls(usual).changed(**{**words, **given, REPEATED: tuple(last.values())})

    @classmethod
    def of_query(cls, query: str) -> Self | None:
        """Return the form of an address; None: its query is empty.

        Raises:
            SettingsError: it has an option that there is not.
        """
        words: dict[str, tuple[str, ...]] = {}
        for name, value in parse_qsl(query.removeprefix("?"), keep_blank_values=True):
            if name not in _options() or name == UNSHARED:
                known = (key for key in _options() if key != UNSHARED)
                raise SettingsError(f"{name}: allowed: {', '.join(known)}")
            several = name != REPEATED and _options()[name].nargs == "+"
            words[name] = (*words.get(name, ()), *(listed([value]) if several else [value]))
        return cls(words) if words else None

    def query(self) -> str:
        """Return the form as the query of an address, `?legs=60,25&delay=8,35`."""
        parts = [
            (name, word)
            for name, words in self.words.items()
            if name != UNSHARED
            for word in (words if name == REPEATED else [",".join(words)])
        ]
        return f"?{urlencode(parts, safe='/:=,', quote_via=quote)}"

    def changed(self, **words: Sequence[str]) -> Self:
        """Return the form with other words of some options (`_` for `-`), without those of none."""
        named = {name.replace("_", "-"): tuple(value) for name, value in words.items()}
        return type(self)({key: value for key, value in {**self.words, **named}.items() if value})

    def arguments(self) -> argparse.Namespace:
        """Return the options as `compare` reads them, on the virtual clock.

        Raises:
            SettingsError: one is wrong.
        """
        parsed = _parser().parse_args(list(self._line()))
        parsed.command, parsed.clock, parsed.pcap = "compare", "virtual", False
        return parsed

    def _line(self) -> Iterator[str]:
        for name, words in self.words.items():
            if _options()[name].nargs == "+":
                yield from (f"--{name}", *words)
            else:
                yield from (f"--{name}={word}" for word in words)

    def ways(self) -> dict[str, Scenario]:
        """Return the scenarios by the names of their ways, as `compare` runs them.

        Raises:
            InputError: a value is wrong; the message names its option or field.
        """
        arguments = self.arguments()
        return compared_ways(arguments, base_scenario(arguments))

    def seeds(self) -> list[int]:
        """Return the seeds of the runs of each way; SettingsError: their number is wrong."""
        arguments = self.arguments()
        number = 1 if arguments.repetitions is None else arguments.repetitions
        check_repetitions(number)
        return [*range(arguments.seed, arguments.seed + number)]

    def command(self) -> str:
        """Return the command line that compares the same ways."""
        return shlex.join(["minitopo-dc", "compare", "--clock", "virtual", *self._line()])

    def yaml(self) -> str:
        """Return the scenario over Dual Connectivity, or the first, as a file for `run`."""
        ways = [*self.ways().values()]
        return dump_yaml(_document(next((way for way in ways if way.mode == "dc"), ways[0])))

    def python(self) -> str:
        """Return a program that compares the same ways."""
        ways = self.ways()
        base = next(iter(ways.values()))
        fields = {
            name: pformat(value, width=90, sort_dicts=False).replace("\n", "\n    ")
            for name, value in _document(base).items()
        }
        lines = [f"    {name}={value}," for name, value in fields.items()]
        made = [f'    "{name}": {_evolved(base, way)},' for name, way in ways.items()]
        return "\n".join(
            [
                *("import minitopo_dc as dc", "", "base = dc.Scenario(", *lines, ")"),
                *("ways = {", *made, "}", f"dc.compare(ways, seeds={self.seeds()})"),
            ]
        )


def place_of(message: str) -> tuple[str, int | None]:
    """Return the option that a message is about, and of which leg from 0 on; `""`: of none."""
    if (leg := OF_LEG.search(message)) is not None and leg[2] in PLACES:
        return PLACES[leg[2]], int(leg[1])
    if (option := OPTION.match(message)) is not None and option[1] != REPEATED:
        return option[1], None
    field = FIELD.match(message)
    others = REPEATED if option is not None else ""
    return OF_FIELD.get(field[1] if field else "", others), None


def _plain(value: Any) -> str:
    """Return a value for a command line; a number with all its digits, 20.0 as 20."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _document(scenario: Scenario) -> dict[str, Any]:
    """Return a scenario's fields as a file has them, if it can be without the defaults."""
    short: dict[str, Any] = {"transport": scenario.transport, "mode": scenario.mode}
    short |= scenario.model_dump(mode="json", exclude_defaults=True)
    with suppress(SettingsError):
        if Scenario.check(short, "page") == scenario:
            return short
    return dict(scenario.model_dump(mode="json", exclude_unset=True))


def _evolved(base: Scenario, way: Scenario) -> str:
    """Return an expression that makes a way from the base."""
    mine, theirs = (one.model_dump(mode="json", exclude_unset=True) for one in (base, way))
    changes = {
        key: theirs.get(key)
        for key in {**mine, **theirs}
        if mine.get(key) != theirs.get(key) and key not in FIELDS
    }
    made, code = base, "base"
    if changes:
        given = ", ".join(f"{key}={value!r}" for key, value in changes.items())
        made, code = base.evolve(**changes), f"base.evolve({given})"
    name, xn_ms = _dual(way)
    if name and made != way:
        xn = f", xn_ms={xn_ms:g}" if name == "deployable" else ""
        made, code = made.with_dc(name, xn_ms=xn_ms), f'{code}.with_dc("{name}"{xn})'
    return code if made == way else f"dc.Scenario(**{_document(way)!r})"


def _dual(scenario: Scenario) -> tuple[Any, float]:
    """Return the name of a Dual Connectivity and the delay of its Xn (ms); empty: it has none."""
    name, _, xn = scenario.dc_name.partition(", Xn ")
    return name.rstrip("'"), float(xn.removesuffix(" ms") or XN_MS)


def _words_of(scenario: Scenario) -> dict[str, tuple[str, ...]]:
    """Return the options of a comparison whose ways have the fields of a scenario."""
    fields = scenario.model_dump(mode="json", exclude_defaults=True)
    words, taken = words_of_legs(scenario.legs), {"legs", "options", "plugins", *CHOSEN}
    own = dict(fields.get("workload", {}))
    kind = own.pop("kind", scenario.workload.kind)
    if all(isinstance(value, str | int | float) for value in own.values()):
        text = ",".join(f"{key}={_plain(value)}" for key, value in own.items())
        words["workload"] = (f"{kind}:{text}".rstrip(":"),)
        taken.add("workload")
    for name in fields.keys() & {"congestion_control", "seed"}:
        words[name.replace("_", "-")] = (str(fields.pop(name)),)
    fields["primary_leg"] = scenario.primary_leg
    if scenario.primary_leg == "nearest":  # as it is in each comparison
        del fields["primary_leg"]
    name, xn_ms = _dual(scenario.evolve(mode="dc"))
    if name:
        words |= {"dc": (name,)} | ({"xn": (_plain(xn_ms),)} if name == "deployable" else {})
        taken |= {*FIELDS}
    else:
        pdcp = fields.pop("pdcp", None) or {}
        words["split"] = (pdcp.pop("split", SPLIT),)
        fields |= {f"pdcp.{key}": value for key, value in pdcp.items()}
    others = (f"{key}={json.dumps(fields[key])}" for key in fields if key not in taken)
    return words | {REPEATED: (*words[REPEATED], *others)}


def words_of_legs(legs: Sequence[Leg]) -> dict[str, tuple[str, ...]]:
    """Return the words of legs; those that options do not make are other fields (`REPEATED`)."""
    rows = {name: [_both(leg, field) for leg in legs] for name, field in BOTH.items()}
    words = {"legs": tuple(map(_capacity, legs))} | {key: tuple(row) for key, row in rows.items()}
    rates = tuple(_plain(leg.uplink.rate_mbps or UPLINK_MBPS) for leg in legs)
    if set(rates) != {_plain(UPLINK_MBPS)} and not any(map(_carrier, legs)):
        words["uplink"] = rates
    made = leg_settings(Form(words).arguments())
    others = (
        f"legs.{place}={json.dumps(leg.model_dump(mode='json', exclude_defaults=True))}"
        for place, (leg, settings) in enumerate(zip(legs, made, strict=True))
        if Leg.check(settings, "legs") != leg
    )
    return words | {REPEATED: tuple(others)}


def _both(leg: Leg, field: str) -> str:
    """Return a field of both directions as an option has it: `8`, or `8/12` down and up.

    A queue whose limit is none of packets has the default.
    """
    values = (getattr(way, field) for way in (leg.downlink, leg.uplink))
    default = LegDirection.model_fields[field].default
    down, up = (_plain(default if value is None else value) for value in values)
    return down if down == up else f"{down}/{up}"


def _capacity(leg: Leg) -> str:
    down = leg.downlink
    return _carrier(leg) or str(down.trace or _plain(down.rate_mbps or UPLINK_MBPS))


def _carrier(leg: Leg) -> str:
    """Return the name of the carrier that a leg is; empty: it is none."""
    down, up = leg.downlink, leg.uplink
    return _carriers().get((down.rate_mbps, up.rate_mbps), "") if down.rlc else ""


@cache
def _carriers() -> Mapping[tuple[float | None, ...], str]:
    """Return carriers by their rates, by which they are told."""
    legs = (Leg.check({"carrier": name}, name) for name in CARRIERS)
    rates = ((leg.downlink.rate_mbps, leg.uplink.rate_mbps) for leg in legs)
    return dict(zip(rates, CARRIERS, strict=True))
