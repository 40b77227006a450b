"""Keys of a topology of type DualConnectivity: the split bearer, in a Minitopo file's style."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minitopo_dc.fields import SettingsError
from minitopo_dc.minitopo.lines import Line, ParameterFile, boolean, fields, number, whole
from minitopo_dc.scenario import Pdcp

MAX_PACKETS = 1_000_000
MAX_SHARES = 250


def _text(line: Line) -> str:
    return line.value


def _batch(line: Line) -> int:
    return whole(line, line.value, "batch", 1, MAX_PACKETS)


def _ratio(line: Line) -> tuple[float, ...]:
    """Return the shares of a ratio, which are separated by commas.

    Minitopo's own reader takes a second colon for a mistake.
    """
    if ":" in line.value:
        raise line.error(f"write the shares with commas: {line.value.replace(':', ',')}")
    names = [f"share{index}" for index in range(1, line.value.count(",") + 2)][:MAX_SHARES]
    shares = fields(line, names, min(2, len(names)))
    return tuple(number(line, share, "share", 0, MAX_PACKETS) for share in shares)


def _sn_bits(line: Line) -> int:
    return whole(line, line.value, "snBits", 0, 64)


def _t_reordering(line: Line) -> float | str:
    if line.value == "infinity":
        return line.value
    return number(line, line.value, "tReordering", 0, 1e6)


_FIELDS: dict[str, tuple[str, Callable[[Line], Any]]] = {
    "split": ("split", _text),
    "batch": ("batch", _batch),
    "ratio": ("ratio", _ratio),
    "snBits": ("sn_bits", _sn_bits),
    "tReordering": ("t_reordering_ms", _t_reordering),
    "delivery": ("delivery", _text),
}
"""Each key with its field of Pdcp, and how its value is read."""
BEARER_KEYS = (*_FIELDS, "splitUplink")


def read_bearer(file: ParameterFile, legs: int, *, allowed: bool) -> tuple[dict[str, Any], bool]:
    """Return the fields of Pdcp and `split_uplink`, and whether all legs carry everything.

    Raises:
        ParameterError: a bad value, or a bearer's key where there is no bearer.
    """
    given = {key: line for key in BEARER_KEYS if (line := file.one(key)) is not None}
    for line in given.values():
        if not allowed:
            raise line.error("needs topoType:DualConnectivity")
    pdcp: dict[str, Any] = {}
    for key, (field, read) in _FIELDS.items():
        if key in given:
            pdcp[field] = read(given[key])
            _check(given[key], {field: pdcp[field]}, None)
    for line in (given.get("split"), given.get("batch"), given.get("ratio")):
        if line is not None:
            _check(line, pdcp, legs)
    duplicates = pdcp.get("split") == "duplicate"
    uplink = given.get("splitUplink")
    return {"pdcp": pdcp, "split_uplink": uplink is not None and boolean(uplink)}, duplicates


def _check(line: Line, pdcp: dict[str, Any], legs: int | None) -> None:
    """Check fields with the settings classes; an error names this line."""
    try:
        settings = Pdcp.check(pdcp, "bearer")
        if legs is not None:
            settings.policy(legs)
    except (SettingsError, ValueError, TypeError) as error:
        raise line.error(str(error)) from None
