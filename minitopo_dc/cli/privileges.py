"""The rights of a command that reads results as root: it becomes their owner.

What somebody else has made is then read and written with no more rights than theirs, whatever it
contains, and whatever becomes of it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from pwd import getpwuid

import pydantic

from minitopo_dc.cli.screen import MATPLOTLIB, give_matplotlib_a_place
from minitopo_dc.fields import SettingsError

NOBODY = 65_534
"""The group of an owner that this machine does not know, where a directory's group is root's."""
ROOT_VARIABLES = ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", MATPLOTLIB)
"""Environment variables that name directories of the user who began the command."""


def drop_privileges(directories: Sequence[Path]) -> None:
    """Become, as root, the owner of directories for the rest of this process, and print a line.

    The process takes the owner's groups, and cannot go back. Nothing happens where the owner is
    root, or when another user than root asks.

    Args:
        directories: the directories; those that exist must have one owner.

    Raises:
        SettingsError: they have several owners, or nobody can become this one.
    """
    if os.geteuid() != 0:
        return
    places = {directory: directory.stat() for directory in directories if directory.is_dir()}
    owners = {facts.st_uid for facts in places.values()}
    if len(owners) > 1:
        words = ", ".join(f"{path} ({_name(facts.st_uid)}'s)" for path, facts in places.items())
        raise SettingsError(f"several owners: {words}; give directories of one, or not as root")
    if owners <= {0}:
        return
    directory, facts = next(iter(places.items()))
    name = _name(facts.st_uid)
    try:
        _set_user(facts.st_uid, facts.st_gid)
    except OSError as error:
        raise SettingsError(f"{directory}: cannot be read as {name}: {error.strerror}") from None
    if not all(os.access(path, os.R_OK) for path in (__file__, pydantic.__file__)):
        raise SettingsError(f"{directory} is {name}'s, who cannot read this program ({__file__})")
    words = f"{directory} is {name}'s: read and written as {name}, not as root"
    print(f"minitopo-dc: {words}", file=sys.stderr)  # noqa: T201


def _name(uid: int) -> str:
    try:
        return getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"


def _set_user(uid: int, group: int) -> None:
    """Change the groups, then the user: who is no longer root cannot give up groups."""
    try:
        entry = getpwuid(uid)
    except KeyError:
        os.setgroups([])
        os.setgid(group or NOBODY)
        home = "/"
    else:
        os.initgroups(entry.pw_name, entry.pw_gid)
        os.setgid(entry.pw_gid)
        home = entry.pw_dir
    os.setuid(uid)
    os.environ["HOME"] = home
    for name in ROOT_VARIABLES:
        os.environ.pop(name, None)
    give_matplotlib_a_place()
