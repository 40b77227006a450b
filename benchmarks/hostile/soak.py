"""Both elements for minutes at a high rate: memory, order, loss, lateness of their timers."""

from __future__ import annotations

import subprocess
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.element.__main__ import LEGS, PORT, SILENCE_MS, answer, compiled, running
from benchmarks.hostile.report import Report
from minitopo_dc.real.network.elements import ElementFailedError
from minitopo_dc.real.network.testbed import Testbed, testbed
from minitopo_dc.scenario import Scenario
from minitopo_dc.scenario.addresses import client_address

PDU_BYTES = 200
"""What a PDU costs does not depend on its size."""
BURST = 16
"""PDUs that the generator sends at once, as the benchmark of elements does above 20,000/s."""
SAMPLE_S = 1.0
SETTLED = 0.25
"""The part of the run after which memory has to be flat: buffers and arenas have grown by then."""
FLAT = 0.05
UNKNOWN = "-"
"""Of an element that did not end well, and so has no summary."""
TRANSPARENT_MS = 1.0
"""A timer that is later is told."""


def run(minutes: float, rate: int, sn_bits: int) -> Report:
    """Send packets through both elements for `minutes`, and check what came of them."""
    wanted = {"transport": "tcp", "mode": "dc", "legs": LEGS, "pdcp": {"sn_bits": sn_bits}}
    scenario = Scenario.check({**wanted, "clock": "real"}, "soak")
    seconds = minutes * 60
    with tempfile.TemporaryDirectory(prefix="minitopo-dc-") as name:
        traffic = compiled(Path(name)).traffic
        with testbed(scenario, Path(name)) as bed, _memory(bed) as samples:
            bed.start()
            words = [client_address(1), PORT, str(rate), str(seconds), str(PDU_BYTES), str(BURST)]
            with running(bed.hosts.client, traffic, "sink", PORT, str(SILENCE_MS)) as sink:
                send = [str(traffic), "send", *words]
                took_s = answer(bed.hosts.server.popen(send, stdout=subprocess.PIPE))["seconds"]
                arrived = answer(sink)
            summaries, faults = _stop(bed)
    sent = int(rate * seconds)
    lost = sent - arrived["received"]
    common = {
        "SN bits": sn_bits,
        "PDUs": sent,
        "lost": lost,
        "in order": arrived["disordered"] == 0,
        "SN wraps": sent >> sn_bits,
        "PDUs/s": round(sent / took_s),
    }
    faults += [f"{lost} PDUs lost"] if lost else []
    faults += [f"{arrived['disordered']} PDUs out of order"] if arrived["disordered"] else []
    rows = []
    for host, kilobytes in samples.items():
        growth = _growth(kilobytes)
        summary = next((each for each in summaries if each["host"] == host), {})
        rows.append({**common, "element": host, **_of_element(kilobytes, growth, summary)})
        if growth > FLAT:
            faults.append(f"element on {host}: memory grew by {growth:.1%}")
    return Report(rows, faults)


def _stop(bed: Testbed) -> tuple[list[dict[str, Any]], list[str]]:
    """Stop the elements; return summaries of the whole ones, and what is wrong with the others."""
    summaries, faults = [], []
    for element in bed.elements:
        try:
            summaries.append(element.stop())
        except ElementFailedError as error:
            faults.append(str(error))
    return summaries, faults


def _of_element(
    kilobytes: Sequence[int], growth: float, summary: dict[str, Any]
) -> dict[str, object]:
    return {
        "memory MB": f"{kilobytes[-1] / 1000:.1f}" if kilobytes else UNKNOWN,
        "growth": f"{growth:.1%}" if kilobytes else UNKNOWN,
        "timers over 1 ms late": f"{_late(summary):.3%}" if summary else UNKNOWN,
        "cpu s": round(summary["cpu_s"], 1) if summary else UNKNOWN,
    }


def _late(summary: dict[str, Any]) -> float:
    """Return the share of an element's timers that were late."""
    late: list[int] = summary["timer_lateness_log2_ns"]
    return sum(late[round(TRANSPARENT_MS * 1e6).bit_length() :]) / (sum(late) or 1)


def _growth(kilobytes: Sequence[int]) -> float:
    """Return the relative growth of memory from where it has settled to the end."""
    if not kilobytes:
        return 0.0
    settled = kilobytes[int(len(kilobytes) * SETTLED)]
    return kilobytes[-1] / settled - 1


@contextmanager
def _memory(bed: Testbed) -> Iterator[dict[str, list[int]]]:
    """Sample the elements' resident memory, in kB, by host."""
    samples: dict[str, list[int]] = {each.settings.host: [] for each in bed.elements}
    ended = threading.Event()

    def sample() -> None:
        while not ended.wait(SAMPLE_S):
            for element in bed.elements:
                samples[element.settings.host].append(_resident_kb(element.pid))

    thread = threading.Thread(target=sample, daemon=True)
    thread.start()
    try:
        yield samples
    finally:
        ended.set()
        thread.join()


def _resident_kb(pid: int) -> int:
    """Return the resident memory in kB (VmRSS of proc(5)), 0 for an ended process."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("VmRSS")), 0)
