"""A campaign's file, by its path or by the name of one that comes with the package."""

from __future__ import annotations

from pathlib import Path

from minitopo_dc.settings import SettingsError
from minitopo_dc.settings.base import exists
from minitopo_dc.shipped import shipped

SUFFIX = ".yaml"


def campaign_names() -> list[str]:
    """Those that come with the package."""
    return sorted(path.stem for path in shipped("campaigns").glob(f"*{SUFFIX}"))


def find_campaign(wanted: str) -> Path:
    """The file of a campaign; one of the user's own counts before one of the same name.

    Raises:
        SettingsError: there is neither a file nor a name like that, with the known names.
    """
    if exists(wanted) and not Path(wanted).is_dir():
        return Path(wanted)
    if wanted not in campaign_names():
        known = ", ".join(campaign_names())
        raise SettingsError(f"{wanted}: neither a file nor a campaign's name; known: {known}")
    return shipped("campaigns") / f"{wanted}{SUFFIX}"
