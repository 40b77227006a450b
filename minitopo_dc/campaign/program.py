"""A campaign's file: a Python file with `cases(version)`, which is imported and so run.

Its docstring is the report's title and notes. It may have `seeds(version)`, the seeds of each case
(without it a case has its scenario's), and `report(runs)`, which yields sections of the report as
pairs of a title and what stands below it: text, a table (DataFrame), a figure (Matplotlib), or a
list of those. `version` is `full`, `quick` or `sample`.
"""

from __future__ import annotations

import ast
import importlib.util
import inspect
import io
import re
import sys
import traceback
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pandas as pd

from minitopo_dc.errors import InputError
from minitopo_dc.settings.base import quoted
from minitopo_dc.shipped import PACKAGE, checkout
from minitopo_dc.spelling import did_you_mean

FILE = "campaign.py"
"""The campaign of a study that has one only, named like its folder."""
MISTAKES = (AttributeError, ImportError, InputError, NameError, TypeError)
"""Errors of a report that a table without rows does not excuse."""
Section = tuple[str, Any]
_QUOTED = re.compile("'([^']+)'")
"""A name among several in the words of a KeyError of pandas."""


class ProgramError(InputError):
    """A mistake in a campaign's file, as Python shows it, from the user's line on."""


@dataclass(frozen=True)
class Program:
    """A campaign's file that was imported."""

    path: Path
    title: str
    notes: str
    _module: ModuleType

    def cases(self, version: str) -> list[Any]:
        """Return the cases of a version; ProgramError shows a mistake in making them."""
        with _shown(self.path):
            return list(self._module.cases(version))

    def seeds(self, version: str) -> list[int]:
        """Return the seeds of each case; empty: each has its scenario's own."""
        if not hasattr(self._module, "seeds"):
            return []
        with _shown(self.path):
            return list(self._module.seeds(version))

    def sections(self, runs: pd.DataFrame) -> list[Section]:
        """Return what `report(runs)` yields; empty without that function."""
        found = []
        with _shown(self.path):
            for each in self._report()(runs):
                found.append(_section(self.path, each))
                _forget_figures()  # pyplot keeps those that nobody closes
        return found

    def try_report(self, runs: pd.DataFrame, values: Collection[str]) -> None:
        """Make a report of a table without rows, so that a misspelt column is found before a run.

        Args:
            runs: the table.
            values: of the labels; who asks for one as a column misses rows, not a column.

        Raises:
            ProgramError: the report has a mistake. Errors that may be due to the missing rows are
                none, nor is a column that a runner may give beside the table's.
        """
        try:
            with warnings.catch_warnings(), redirect_stdout(io.StringIO()):
                warnings.simplefilter("ignore")
                for each in self._report()(runs):
                    _section(self.path, each)
        except Exception as error:
            if (hint := _mistake(error, runs, values)) is not None:
                raise ProgramError(_as_python_shows(error, self.path) + hint) from None
        finally:
            _forget_figures()

    def _report(self) -> Callable[[pd.DataFrame], Iterable[Any]]:
        return getattr(self._module, "report", lambda _: ())


def _forget_figures() -> None:
    """Take pyplot's hands off all figures, which can still be drawn and written."""
    if (pyplot := sys.modules.get("matplotlib.pyplot")) is not None:
        pyplot.close("all")


def find_program(name: str) -> Path | None:
    """Return the file of a campaign by its path or the name of a study; None if there is none."""
    if name.endswith(".py"):
        return Path(name)
    return studies().get(name)


def studies() -> dict[str, Path]:
    """Return the campaigns of the checkout's or the installed studies, by name.

    `studies/mesh/campaign.py` is `mesh`; any other file there with a function `cases` is
    `FOLDER/FILE`, e.g. `thesis/fairness`. The files are read, not run.
    """
    root = checkout() or PACKAGE / "data"
    return {_study(path): path for path in sorted(root.glob("studies/*/*.py")) if _has_cases(path)}


def _study(path: Path) -> str:
    return path.parent.name if path.name == FILE else f"{path.parent.name}/{path.stem}"


def _has_cases(path: Path) -> bool:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return any(isinstance(part, ast.FunctionDef) and part.name == "cases" for part in tree.body)


def load_program(path: Path) -> Program:
    """Import a campaign's file; it finds modules beside it, as a script does.

    Raises:
        ProgramError: it cannot be imported, shown at its line.
        InputError: there is no such file, or it has no `cases(version)`.
    """
    path = path.resolve()
    if not path.is_file():
        raise InputError(f"{quoted(path)}: no such regular file; allowed: a campaign's Python file")
    module = _imported(path)
    for name, parameter in (("cases", "version"), ("seeds", "version"), ("report", "runs")):
        function = getattr(module, name, None)
        if (function is None and name == "cases") or not _takes_one(function):
            raise InputError(f"{path}: {name}: allowed is a function {name}({parameter})")
    title, _, notes = inspect.cleandoc(module.__doc__ or "").partition("\n")
    return Program(path, title.rstrip(".") or path.parent.name, notes.strip(), module)


def _takes_one(function: Any) -> bool:
    if function is None:
        return True
    try:
        inspect.signature(function).bind(None)
    except (TypeError, ValueError):
        return False
    return True


_before: list[Path] = []
"""The folder of the campaign's file that was imported last."""


def _imported(path: Path) -> ModuleType:
    for name, module in list(sys.modules.items()):  # another campaign's `report`, for example
        file = getattr(module, "__file__", None)
        if file is not None and Path(file).parent in _before and name != "__main__":
            del sys.modules[name]
    sys.path[:] = [place for place in sys.path if Path(place) not in _before]
    _before[:] = [path.parent]
    sys.path.insert(0, str(path.parent))
    name = f"campaign_{path.parent.name}_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    with _shown(path):
        spec.loader.exec_module(module)
    return module


def _section(path: Path, given: Any) -> Section:
    if isinstance(given, tuple) and len(given) == 2 and isinstance(given[0], str):
        return given
    raise InputError(
        f"{path}: report yields {quoted(repr(given))}; allowed: pairs of a title and its content"
    )


@contextmanager
def _shown(path: Path) -> Iterator[None]:
    """Turn any error of a campaign's file into one that is shown as Python does."""
    try:
        yield
    except Exception as error:
        raise ProgramError(_as_python_shows(error, path)) from None


def _as_python_shows(error: Exception, path: Path) -> str:
    """Return a traceback from the file's first line to the last one of the user's own files."""
    found = traceback.TracebackException.from_exception(error)
    places = [place for place, frame in enumerate(found.stack) if frame.filename == str(path)]
    own = [place for place, frame in enumerate(found.stack) if _is_own(frame.filename)]
    found.stack[:] = found.stack[places[0] : own[-1] + 1] if places else []
    return f"{path} has a mistake\n{''.join(found.format(chain=False)).rstrip()}"


def _is_own(file: str) -> bool:
    """Return whether a file is neither this package's nor an installed one."""
    path = Path(file)
    return not path.is_relative_to(PACKAGE) and "site-packages" not in path.parts and path.exists()


def _mistake(error: Exception, runs: pd.DataFrame, values: Collection[str]) -> str | None:
    """Return what to say of an error of a report of no rows; None if it may be due to that."""
    if isinstance(error, KeyError):
        text = str(error.args[0]) if error.args else ""
        for name in _QUOTED.findall(text) or [text]:
            known = name in runs or name in values
            if not known and (hint := did_you_mean(name, map(str, runs))):
                return f"\n{name}: no column of the table; {hint}"
        return None
    return "" if isinstance(error, MISTAKES) and not isinstance(error, UnboundLocalError) else None
