"""What a script registers itself: known to its workers, and part of a run's identity."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from minitopo_dc import registry
from minitopo_dc.errors import InputError
from minitopo_dc.runs import script_plugins
from minitopo_dc.runs.script_plugins import plugin_file, plugin_files, restored, source_of
from tests.campaign.cases import program, run, scenario

POLICY = """
import itertools
from collections.abc import Sequence

FIRST = 1
legs = object()  # a name that the method has for itself

def turns(legs):
    return itertools.cycle([(leg,) for leg in range(FIRST, legs)])

@dc.split_policy("mine")
class Mine:
    def __init__(self, legs: int) -> None:
        self._turns = turns(legs)

    def legs(self, *, now: int, size: int, views: Sequence[dc.plugins.LegView]) -> tuple[int, ...]:
        return next(self._turns)

one = dc.Scenario(**base, pdcp={"split": "mine"})
"""
RUN = """
runs = dc.Campaign(NAME, [(one, {})], seeds=(1, 2)).run(jobs=JOBS, progress=False)
for row in runs.itertuples():
    print(row.status, row.reason, row.leg_bytes_1 < 1000, row.run)
"""


def ran(text: str, directory: Path, *, stdin: bool = False) -> list[str]:
    return run(program(*text.split("---")), directory, stdin=stdin).splitlines()


def test_workers_know_it_and_its_source_is_in_the_digest(tmp_path: Path) -> None:
    again = POLICY.replace("FIRST = 1", "FIRST = 0")
    lines = ran(
        POLICY
        + RUN.replace("NAME", "'a'").replace("JOBS", "1")
        + again  # as a notebook's cell that is run again
        + RUN.replace("NAME", "'b'").replace("JOBS", "1")
        + RUN.replace("NAME", "'c'").replace("JOBS", "2"),
        tmp_path,
    )
    first, serial, other = lines[:2], lines[2:4], lines[4:]
    assert all(line.startswith("ok  True runs/") for line in first)
    assert serial == other
    assert all(line.startswith("ok  False runs/") for line in other)
    assert not set(other) & set(first)


@pytest.mark.long
def test_a_program_from_standard_input_has_workers(tmp_path: Path) -> None:
    more = RUN.replace("NAME", "'a'").replace("JOBS", "2")
    lines = ran("one = dc.Scenario(**base)\n" + more, tmp_path, stdin=True)
    assert [line.split()[0] for line in lines] == ["ok", "ok"]


def test_a_policy_of_standard_input_is_refused_as_nobody_can_read_it(tmp_path: Path) -> None:
    more = """
try:
    dc.Campaign("a", [(one, {})])
except dc.InputError as error:
    print(error)
"""
    (line,) = ran(POLICY + more, tmp_path, stdin=True)
    assert line.startswith("split policy 'mine': other processes cannot know it, as it uses Mine")


HANDLE = Path(__file__).open(encoding="utf-8")  # noqa: SIM115
HANDLE.close()


class Uses:
    def legs(self) -> object:
        return HANDLE


def test_what_cannot_be_written_into_a_file_is_named() -> None:
    with pytest.raises(InputError, match="HANDLE"):
        source_of("split policy", "mine", Uses)

    class Inside:
        def legs(self) -> None: ...

    with pytest.raises(InputError, match="defined inside a function"):
        source_of("split policy", "mine", Inside)


def test_a_scenario_brings_its_plugin_to_another_machine() -> None:
    text = """from minitopo_dc import split_policy

@split_policy("test-brought")
class Brought:
    def __init__(self, legs): ...
    def legs(self, *, now, size, views):
        return (0,)
"""
    with registry.registrations_kept():
        path = plugin_file("test-brought", text)
        one = scenario(plugins=(str(path),), pdcp={"split": "test-brought"})
        sent = pickle.dumps((one.model_dump(mode="json"), plugin_files(one)))
        path.unlink()
    with registry.registrations_kept():  # where nobody has heard of it
        assert restored(*pickle.loads(sent)) == one
        assert path.read_text() == text
        assert "test-brought" in registry.TABLES["split policy"]


@pytest.mark.parametrize(("split", "files"), [("batch", 0), ("numbering", 1)])
def test_a_field_s_name_is_no_use_of_what_is_registered_under_it(
    split: str, files: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`numbering` is a field of `pdcp`, too; a use is that it is the value of one."""
    monkeypatch.setattr(script_plugins, "source_of", lambda *_: "")
    one = scenario()
    named = one.model_copy(update={"pdcp": one.pdcp.model_copy(update={"split": split})})
    own = {("split policy", "numbering"): object()}
    assert len(script_plugins.with_script_plugins(named, own).plugins) == files


def test_what_comes_with_the_package_outlives_a_run_that_loaded_it() -> None:
    made: registry.Registry[type] = registry.Registry("kind of a test", "no.such.group", ())
    with registry.registrations_kept():
        made.add("ours", registry.Registry)
        made.add("of a user", Path)
    assert made.names() == ("ours",)
