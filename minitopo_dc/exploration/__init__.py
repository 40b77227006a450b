"""Two legs under sliders: what DC and MP-QUIC make of them, at once after each change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from minitopo_dc.errors import InputError

if TYPE_CHECKING:
    from minitopo_dc.exploration.page import Explorer
    from minitopo_dc.scenario import Leg

INSTALL = 'pip install "minitopo-dc[notebooks]"'


def explore(legs: Sequence[Leg] | None = None, **choice: Any) -> Explorer:
    """Return a page with sliders for both legs, which runs each change and draws what comes of it.

    >>> dc.explore()
    >>> dc.explore([dc.Leg(rate_mbps=20, delay_ms=30), dc.Leg(rate_mbps=80)], size_mb=10)

    A change runs each leg alone, DC and MP-QUIC on the virtual clock; TCP and MPTCP by a box. A
    notebook shows the page as the value of a cell.

    Args:
        legs: two or more to begin with, which have only what the sliders have.
        choice: what the other sliders and boxes are to begin with: `size_mb`,
            `congestion_control`, `split`, `t_reordering_ms`, `xn_ms`, `others`, `seed`, `seeds`,
            `kernel`.

    Raises:
        InputError: a leg has more than the sliders have, a box has no such value, or what draws
            pages in notebooks is not installed.
    """
    try:  # here, as the processes that run the ways have no page
        from minitopo_dc.exploration.page import page_of  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise InputError(f"explore needs {error.name}: {INSTALL}") from None
    return page_of(legs, choice)
