"""Calls in processes: what is killed is lost alone, and no process outlives who asked."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

from minitopo_dc.pool import Killed, Pool
from tests.scenario.calls import act


def test_a_killed_call_is_told_and_the_others_go_on() -> None:
    calls = ["a", "die", "b", "raise", "c"]
    with Pool(act, 2) as pool:
        found = dict(pool.results([(call,) for call in calls]))
    assert found.pop(1) == Killed(-signal.SIGKILL)
    assert str(found.pop(3)) == "TwoWordsError: both"
    assert found == {0: "a", 2: "b", 4: "c"}


def test_who_stops_asking_ends_what_is_under_way() -> None:
    begin = time.monotonic()
    with Pool(act, 2) as pool:
        next(iter(pool.results([("a",), ("sleep",)])))
    assert time.monotonic() - begin < 60


def test_a_process_makes_one_lot_of_calls_after_the_other() -> None:
    with Pool(act, 1) as pool:
        first = list(pool.results([("pid",), ("die",)]))
        second = list(pool.results([("pid",), ("pid",)]))
    assert first[1][1] == Killed(-signal.SIGKILL)
    assert first[0][1] != second[0][1] == second[1][1]


def test_each_process_has_a_number_which_the_one_in_its_place_has_too() -> None:
    with Pool(act, 2) as pool:
        numbers = [outcome for _, outcome in pool.results([("number",), ("number",)])]
        assert sorted(numbers) == ["0", "1"]
        list(pool.results([("die",)]))
        again = [outcome for _, outcome in pool.results([("number",), ("number",)])]
    assert sorted(again) == ["0", "1"]


def test_what_has_not_ended_in_time_is_given_up() -> None:
    begin = time.monotonic()
    with Pool(act, 1) as pool:
        assert list(pool.results([("sleep",), ("a",)], lambda: begin + 1)) == []
        assert [outcome for _, outcome in pool.results([("a",)])] == ["a"]
    assert time.monotonic() - begin < 60


PARENT = """
import sys, time
from minitopo_dc.pool import Pool
from tests.scenario.calls import act
print("begun", flush=True)
with Pool(act, 2) as pool:
    list(pool.results([("sleep",), ("sleep",)]))
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_no_worker_outlives_its_parent_with_standard_output_open(number: int) -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        parent.stdout.readline()
        time.sleep(0.5)
        parent.send_signal(number)
        begin = time.monotonic()
        assert parent.stdout.read() == b""  # its end: nobody has it open
        assert time.monotonic() - begin < 60


def test_the_first_process_begins_with_its_signals_blocked_as_well() -> None:
    code = """
import signal
from multiprocessing import resource_tracker
from minitopo_dc.pool import _held_signals
with _held_signals():
    resource_tracker.getfd()  # as multiprocessing does before it starts the first process
    print(signal.pthread_sigmask(signal.SIG_BLOCK, ()) >= {signal.SIGINT, signal.SIGTERM})
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"
