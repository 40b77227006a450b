"""The wheel: what is in it, and that an ordinary user can work with it from any directory.

It is built from this checkout without a network, and installed into an environment that has the
libraries of the one that runs the tests, but not its editable minitopo-dc.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections import Counter
from email import message_from_string
from pathlib import Path

import pytest

from minitopo_dc import __version__
from minitopo_dc.native.library import EXTENSION
from minitopo_dc.results.run_result import NOTHING_RAN
from tests import REPOSITORY

pytestmark = pytest.mark.slow
NATIVE = f"minitopo_dc/native/{EXTENSION.file_name()}"
NO_COMPILER = {"PATH": "/nonexistent"}
OWN = ("PYTHONPATH", "XDG_CACHE_HOME")
"""Of the environment of who runs the tests."""
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet")
SCENARIO = """
transport: quic
mode: dc
clock: virtual
legs: [{downlink: {trace: mine.csv}}, {downlink: {rate_mbps: 20}}]
workload: {size_mb: 0.5}
"""

MULTIPATH = """
transport: mpquic-picoquic
mode: multipath
clock: virtual
legs: [{downlink: {rate_mbps: 20}}, {downlink: {rate_mbps: 20}}]
workload: {size_mb: 0.5}
"""


def build(source: Path, directory: Path, **variables: str) -> Path:
    """A wheel of what is in a directory, made with additions to the environment."""
    offline = ("--no-index", "--no-deps", "--no-build-isolation")
    subprocess.run(
        [*PIP, "wheel", *offline, "--wheel-dir", str(directory), str(source)],
        env=os.environ | variables,
        check=True,
    )
    (wheel,) = directory.glob("*.whl")
    return wheel


def litter() -> set[Path]:
    """What setuptools leaves in a checkout unless it is told to build elsewhere."""
    return {*REPOSITORY.glob("build/*"), *REPOSITORY.glob("*.egg-info")}


def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def read(wheel: Path, name: str) -> str:
    """A file of the wheel's metadata; which folder it is in depends on setuptools."""
    with zipfile.ZipFile(wheel) as archive:
        metadata = (path for path in archive.namelist() if ".dist-info/" in path)
        (path,) = (path for path in metadata if path.endswith(f"/{name}"))
        return archive.read(path).decode()


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A compiler that does not optimize, which takes most of its time: nothing here is measured."""
    made = tmp_path_factory.mktemp("programs")
    compiler = made / "cc"
    compiler.write_text(f'#!/bin/sh\nexec {shutil.which("cc")} "$@" -O0 -fno-lto\n')
    compiler.chmod(0o755)
    return made


@pytest.fixture(scope="module")
def wheel(programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    before = litter()
    path = f"{programs}:{os.environ['PATH']}"
    made = build(REPOSITORY, tmp_path_factory.mktemp("wheel"), PATH=path)
    assert litter() == before
    return made


@pytest.fixture(scope="module")
def environment(wheel: Path, programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel in it; its libraries are those of this process."""
    root = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(root)], check=True)
    (packages,) = root.glob("lib/python3*/site-packages")
    # Folders named in a .pth file have no .pth files of their own: no editable install is found.
    libraries = [path for path in sys.path if path.endswith("-packages")]
    (packages / "libraries.pth").write_text("\n".join(libraries))
    python = str(root / "bin" / "python")
    install = ["install", "--no-index", "--no-deps", "--no-compile", str(wheel)]
    subprocess.run([*PIP, "--python", python, *install], check=True)
    shutil.copy(programs / "cc", root / "bin")
    return root


class User:
    """Somebody who works in a directory of their own, with the command of an environment."""

    def __init__(self, environment: Path, home: Path) -> None:
        self.home = home
        self._programs = environment / "bin"

    def runs(
        self, program: str, *arguments: str, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        kept = {name: value for name, value in os.environ.items() if name not in OWN}
        return subprocess.run(
            [str(self._programs / program), *arguments],
            cwd=self.home,
            env=kept
            | {"HOME": str(self.home), "COLUMNS": "200"}
            | {"PATH": f"{self._programs}:{os.environ['PATH']}"}
            | variables,
            capture_output=True,
            text=True,
            check=False,
        )

    def gets(self, *arguments: str, **variables: str) -> str:
        """The standard output of `minitopo-dc`, which must end well."""
        done = self.runs("minitopo-dc", *arguments, **variables)
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture
def user(environment: Path, tmp_path: Path) -> User:
    return User(environment, tmp_path)


def test_the_wheel_has_one_top_level_name_beside_its_metadata(wheel: Path) -> None:
    top = {name.partition("/")[0] for name in names(wheel)}
    assert {name for name in top if not name.endswith(".dist-info")} == {"minitopo_dc"}
    assert len(top) == 2


def test_the_wheel_has_every_file_of_the_package_and_no_other(wheel: Path) -> None:
    ours = {
        (Path(folder) / file).relative_to(REPOSITORY).as_posix()
        for folder, _, files in os.walk(REPOSITORY / "minitopo_dc", followlinks=True)
        for file in files
        if not folder.endswith("__pycache__")
    }
    packed = {name for name in names(wheel) if name.startswith("minitopo_dc/")}
    assert packed == {*ours, NATIVE}
    assert {
        "minitopo_dc/py.typed",
        "minitopo_dc/report/page.html.j2",
        "minitopo_dc/runners/tcp/runner.py",
        "minitopo_dc/quic/picoquic/helper.h",
        "minitopo_dc/quic/picoquic/endpoint.c",
        "minitopo_dc/topologies/two_path.py",
        "minitopo_dc/data/traces/lte_a.csv",
        "minitopo_dc/data/templates/two-path-dc.topo.j2",
        "minitopo_dc/data/studies/thesis/reference/thesis_table_5_3_batch_size.csv",
        "minitopo_dc/data/studies/mpquic_design/campaign.py",
        "minitopo_dc/data/studies/mpquic_design/reference/mpquic_authors_points.csv",
    } <= packed


def test_the_wheel_has_the_licence_and_names_it(wheel: Path) -> None:
    assert read(wheel, "LICENSE") == (REPOSITORY / "LICENSE").read_text(encoding="utf-8")
    metadata = message_from_string(read(wheel, "METADATA"))
    assert metadata["License-Expression"] == "BSD-3-Clause"
    assert metadata["Author"] == "the minitopo-dc authors"
    assert metadata["Version"] == __version__


@pytest.mark.long
def test_without_links_beside_an_older_build_the_wheel_is_the_same_and_without_compiler_in_python(
    wheel: Path, tmp_path: Path
) -> None:
    source = tmp_path / "source"
    shutil.copytree(
        REPOSITORY / "minitopo_dc",
        source / "minitopo_dc",  # links followed
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(REPOSITORY / name, source)
    old = source / "build" / "lib" / "minitopo_dc"
    old.mkdir(parents=True)
    (old / "gone.py").touch()
    assert names(build(source, tmp_path / "wheels", **NO_COMPILER)) == names(wheel) - {NATIVE}


def test_the_package_that_runs_is_the_installed_one(user: User, environment: Path) -> None:
    done = user.runs("python", "-c", "import minitopo_dc; print(minitopo_dc.__file__)")
    assert Path(done.stdout.strip()).is_relative_to(environment)
    code = "from minitopo_dc.installation import checkout; print(checkout())"
    assert user.runs("python", "-c", code).stdout == "None\n"


def test_without_a_compiler_a_comparison_leaves_its_results_whatever_lies_there(user: User) -> None:
    for name in ("types", "random", "minitopo_dc"):
        (user.home / f"{name}.py").write_text("raise SystemExit('of the user')")
    options = ("--clock", "virtual", "--size", "0.1", "--repetitions", "1", "--jobs", "2", "--json")
    results = json.loads(user.gets("compare", *options, **NO_COMPILER))
    statuses = Counter((result["transport"], result["status"]) for result in results)
    of_kernel = {("tcp", "unsupported"): 4, ("mptcp", "unsupported"): 1}
    assert statuses == of_kernel | {("quic", "ok"): 4, ("mpquic-picoquic", "unsupported"): 1}
    reasons = {result["transport"]: result["reason"] for result in results}
    assert "minitopo-dc build linux" in reasons["tcp"]
    assert "minitopo-dc build picoquic" in reasons["mpquic-picoquic"]
    (made,) = (user.home / "results").glob("compare-*")
    assert (made / "goodput.png").stat().st_size > 10_000


@pytest.mark.long
def test_picoquic_is_made_for_the_user_and_used(user: User) -> None:
    cache = user.home / ".cache" / "minitopo-dc" / "picoquic"
    (user.home / "multipath.yaml").write_text(MULTIPATH)
    done = user.runs("minitopo-dc", "run", "multipath.yaml", "--json", **NO_COMPILER)
    assert done.returncode == NOTHING_RAN
    assert "no C compiler" in done.stderr
    assert "get it: minitopo-dc build picoquic" in json.loads(done.stdout)["reason"]
    give_sources(user, "picoquic")
    result = json.loads(user.gets("run", "multipath.yaml", "--json"))
    assert (result["status"], result["details"]["core"]) == ("ok", "native")
    assert list(cache.glob("*/*.so"))


def give_sources(user: User, name: str) -> None:
    """Give the user the sources that this checkout has kept, so that a build needs no network."""
    sources = list((REPOSITORY / ".cache" / name).glob("*.tar.gz"))
    if not sources:
        reason = f"{name} is not built here (minitopo-dc build {name})"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(reason)
    cache = user.home / ".cache" / "minitopo-dc" / name
    cache.mkdir(parents=True, exist_ok=True)
    shutil.copy(sources[0], cache)
