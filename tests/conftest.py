"""Who runs the tests marked `root`: root does, with all that they need; others are told so."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from minitopo_dc.results.trust import LIMITS_VARIABLE

NOT_ROOT = "needs root: sudo make test"
MANY_OBJECTS = 100_000
"""New objects after which garbage is looked for; Python's 700 cost collecting a seventh."""

# A busy machine takes its time: no test is about how long an example takes. A quarter of
# Hypothesis' 100 examples: each run of the tests draws others. The twins in C have more (EXAMPLES).
settings.register_profile("minitopo-dc", deadline=None, max_examples=25)
settings.load_profile("minitopo-dc")


def pytest_configure() -> None:
    """Give children the signals that nohup(1) or a script's `&` has switched off, as in a shell.

    And believe all runs: several tests at a time disturb each other, and none is about a number.
    """
    gc.set_threshold(MANY_OBJECTS)
    os.environ.setdefault(LIMITS_VARIABLE, str(Path(__file__).with_name("lenient-limits.yaml")))
    for number, default in (
        (signal.SIGINT, signal.default_int_handler),
        (signal.SIGHUP, signal.SIG_DFL),
    ):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, default)


@pytest.fixture(autouse=True)
def figures_are_closed() -> Iterator[None]:
    """Close what a test has drawn: pyplot warns of more than 20 figures in a process."""
    yield
    if (pyplot := sys.modules.get("matplotlib.pyplot")) is not None:
        pyplot.close("all")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """With `-m "root and ..."` or `-m "long and ..."` import no file without such tests."""
    markers = [marker for marker in config.option.markexpr.split(" and ") if marker.isidentifier()]
    if not markers or collection_path.suffix != ".py":
        return None
    text = collection_path.read_text(encoding="utf-8")
    if "long(" in text:  # `tests.long`
        text += "pytest.mark.long"
    return any(f"pytest.mark.{marker}" not in text for marker in markers) or None


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a `root` test for an ordinary user; in CI nothing may be skipped in silence."""
    if os.geteuid() == 0 or item.get_closest_marker("root") is None:
        return
    if os.environ.get("CI"):
        pytest.fail(f"{NOT_ROOT} (CI is set, so this is no reason to skip)", pytrace=False)
    pytest.skip(NOT_ROOT)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes long and shares nothing: on several cores nobody waits for it then."""

    def is_long(item: pytest.Item) -> bool:
        return bool(item.get_closest_marker("slow") and not item.get_closest_marker("root"))

    items.sort(key=lambda item: not is_long(item))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Before root runs `root` tests: end with the list of what is missing, if anything is.

    Not in a worker, which cannot end them all; `make test` runs tests without workers before.
    """
    in_worker = hasattr(session.config, "workerinput")
    if session.config.option.collectonly or os.geteuid() != 0 or in_worker:
        return
    if any(item.get_closest_marker("root") for item in session.items):
        from minitopo_dc.real.machine import check

        missing = [finding for finding in check() if finding.status == "missing"]
        if missing:
            lines = (f"{each.name}: {each.detail} -> {each.remedy}" for each in missing)
            pytest.exit("the tests marked root cannot run here:\n" + "\n".join(lines), returncode=2)
