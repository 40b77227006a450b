"""Modules that need an optional part of the installation are those that use it, and no others."""

from __future__ import annotations

import subprocess
import sys

from tests import REPOSITORY

PROGRAM = """
import importlib, sys, warnings
blocked, names = sys.argv[1].split(","), sys.argv[2:]
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in blocked:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Blocked())
warnings.simplefilter("ignore")
for name in names:
    try:
        importlib.import_module(name)
    except ModuleNotFoundError:
        print(name)
"""
REAL = "mininet,netfilterqueue,pyroute2"
OF_THE_REAL_CLOCK = (
    *("minitopo_dc.real.", "minitopo_dc.topologies.", "minitopo_dc.mininet"),
    *("minitopo_dc.minitopo.checkout", "minitopo_dc.minitopo.plugin"),  # runs in a Minitopo
)


def modules() -> list[str]:
    """Every module of the package and of the benchmarks that is no program of its own."""
    folders = ("minitopo_dc", "benchmarks", "minitopo_dc/runners", "minitopo_dc/topologies")
    files = {
        path.relative_to(REPOSITORY).with_suffix("")
        for folder in folders
        for path in (REPOSITORY / folder).rglob("*.py")
    }
    names = {".".join(path.parts).removesuffix(".__init__") for path in files}
    return sorted(name for name in names if not name.startswith("minitopo_dc.data."))


def unimportable(blocked: str) -> set[str]:
    """The modules that cannot be imported without some packages."""
    programs = ("minitopo_dc.cli.__main__",)
    names = [name for name in modules() if name not in programs]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, blocked, *names],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.split())


def test_only_the_real_clock_and_its_topologies_need_mininet() -> None:
    others = {name for name in unimportable(REAL) if not name.startswith(OF_THE_REAL_CLOCK)}
    assert others == set()


def test_what_a_machine_lacks_is_found_out_without_any_optional_part() -> None:
    """`check` and `clean` run where Mininet and NetfilterQueue are missing."""
    assert not {"minitopo_dc.real.machine", "minitopo_dc.real.run_registry"} & unimportable(REAL)


def test_only_the_page_needs_widgets() -> None:
    blocked = "ipykernel,IPython,jupyterlab,panel,bokeh,param,tornado,traitlets"
    pages = {"minitopo_dc.cli.explore.page", "minitopo_dc.cli.explore.fields"}
    assert unimportable(blocked) == pages
