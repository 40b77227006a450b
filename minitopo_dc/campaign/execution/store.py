"""The directory of a campaign, with the plan that it keeps as `plan.json`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, get_args

from minitopo_dc.analysis.tables.labels import MAX_PLAN, PLAN
from minitopo_dc.campaign.file.plan import Plan
from minitopo_dc.campaign.store import Store as DirectoryOfRuns
from minitopo_dc.campaign.store import StoreError, full_disk, reporting_full_disk
from minitopo_dc.data_model import check_version
from minitopo_dc.files import read_text, replacing
from minitopo_dc.runs.results import RunResult, Status
from minitopo_dc.runs.seal import seal
from minitopo_dc.settings import SettingsError

__all__ = ["Store", "StoreError", "describe_status", "full_disk", "reporting_full_disk", "seal"]

CONDENSED = "condensed.yaml"
"""The file that a condensed result has in place of a plan (`campaign.condensed`)."""


class Store(DirectoryOfRuns):
    """The directory of a campaign, with its plan and its runs."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self._plan = root / PLAN

    def plan(self) -> Plan:
        """Return the plan that the directory keeps, without the runs' scenarios.

        Raises:
            StoreError, SettingsError: there is no campaign here, or its plan is broken.
            DataModelError: it has a version of the data model that this program does not read.
        """
        self._check_inside()
        check_version(self.root)
        try:
            text = read_text(self._plan, MAX_PLAN, within=self.root)
            return Plan.from_json(text, str(self._plan))
        except SettingsError:
            raise
        except OSError as error:
            raise StoreError(f"{self._plan}: {error.strerror}; no campaign was run here") from None
        except ValueError as error:
            raise StoreError(f"{self._plan}: {error}") from None

    def done(self) -> dict[str, RunResult]:
        """Return the results of the runs that are complete, by identity.

        A file beside the runs' directories, and a run with a damaged result (`damaged`), are left
        out.
        """
        directories = self._directories()
        results = ((each.name, self._result(each, only="result.json")) for each in directories)
        return {name: result for name, result in results if isinstance(result, RunResult)}

    def damaged(self) -> dict[str, str]:
        """Return why runs are damaged, by identity; it reads all files of all runs."""
        found = {}
        for directory in self._directories():
            result = self._result(directory)
            if isinstance(result, str):
                found[directory.name] = result
        return found

    def _directories(self) -> list[Path]:
        return sorted(each for each in self.runs.glob("*") if each.is_dir())

    @property
    def is_writable(self) -> bool:
        """Return whether tables can be written here.

        They cannot where the directory is another user's, or read-only.
        """
        return os.access(self.root, os.W_OK)

    def _check_inside(self) -> None:
        """Refuse a condensed result, too."""
        if (self.root / CONDENSED).is_file():
            raise StoreError(
                f"{self.root}: a condensed result, which has no runs to be shown or resumed; "
                "`minitopo-dc campaign papers` reads it"
            )
        super()._check_inside()

    @contextmanager
    def open(self, plan: Plan) -> Iterator[None]:
        """Hold the directory for a plan, new or resumed; remove what was under way.

        Raises:
            StoreError: another process holds it, it holds another campaign, it cannot be made, or
                the plan has no runs, as it is one that a directory kept.
        """
        if plan.cells and not plan.runs:
            raise StoreError(f"{self.root}: its plan has no scenarios to run; give the file's plan")
        with self.held(partial(self._take, plan)):
            yield

    def _take(self, plan: Plan) -> None:
        """Make the directory one of this campaign, or extend its plan to more of the campaign."""
        if self._plan.exists():
            kept = {directory.name for directory in self.runs.iterdir()}
            missing = kept & set(self.plan().needed_by) - set(plan.needed_by)
            if missing:
                raise StoreError(
                    f"{self.root}: holds another campaign, or other options of this one "
                    f"({len(missing)} of its runs are not in this one); give another directory"
                )
        with replacing(self._plan) as partial:
            partial.write_text(plan.to_json(), encoding="utf-8")


def describe_status(done: dict[str, RunResult], plan: Plan) -> dict[str, Any]:
    """Return the numbers of runs: planned, of each status, and missing."""
    wanted = plan.needed_by
    states = [done[run].status for run in wanted if run in done]
    counts = {status: states.count(status) for status in get_args(Status)}
    return {"runs": len(wanted), **counts, "missing": len(wanted) - len(states)}
