"""Numbers of options, with or without a unit."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from minitopo_dc.numbers import QUANTITIES, in_field_unit, quantity_of
from minitopo_dc.settings import SettingsError
from minitopo_dc.settings.base import quoted


def of(name: str) -> Callable[[str], float]:
    """Return the function that converts an option's number to this unit (`ms`, `mb`, ...)."""

    def read(text: str) -> float:
        try:
            return in_field_unit(text, QUANTITIES[name])
        except ValueError as error:
            raise argparse.ArgumentTypeError(f"{quoted(text)} is {error}") from None

    return read


def of_field(option: str, field: str, text: str) -> float | str:
    """Return an option's number in the unit of a field; the text where its name tells no unit.

    Raises:
        SettingsError: it is no number, or has a unit of something else; the message says what is
            allowed.
    """
    quantity = quantity_of(field)
    try:
        return text if quantity is None else in_field_unit(text, quantity)
    except ValueError as error:
        raise SettingsError(f"{option}: {quoted(text)} is {error}") from None
