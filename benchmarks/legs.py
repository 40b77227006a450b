"""CPU time of a leg of the native core alone: a carrier's beside a plain one's.

The same packets pass both (`legs.c`), at rates from a busy leg, whose slots carry many, to lone
packets, each of which has a slot of its own. Figures are the least of the repetitions, in ns a
packet that goes down, with half a packet that goes up.
"""

from __future__ import annotations

import argparse
import subprocess
from itertools import product
from pathlib import Path
from typing import Any

from minitopo_dc.cli.screen import progress
from minitopo_dc.native.library import EXTENSION, FAST, FLAGS, library, struct_of
from minitopo_dc.scenario import Leg
from minitopo_dc.scratch import scratch
from minitopo_dc.units import NS_PER_S

SOURCES = ("base/*.c", "link/*.c", "pdcp/*.c")
GAPS_NS = (19_000, 50_000, 200_000, 1_000_000, 10_000_000)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("--packets", type=int, default=100_000)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--carrier", default="nr-tdd-100")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Measure CPU time of a carrier's leg in C, against a plain leg's."""
    leg = Leg(carrier=options.carrier)
    times: dict[tuple[str, int], list[float]] = {}
    with scratch() as directory:
        program = _compiled(directory)
        rlc = [
            str(_saved(getattr(leg, way).rlc, directory / way)) for way in ("downlink", "uplink")
        ]
        bits = [way.capacity().bits_between(0, NS_PER_S) for way in (leg.downlink, leg.uplink)]
        rounds = [*product(("plain", "radio"), GAPS_NS)] * options.repetitions
        for kind, gap_ns in progress(rounds):
            numbers = [*map(str, (options.packets, gap_ns, *bits)), "0.1"]
            command = [program, *numbers, *(rlc if kind == "radio" else ())]
            took = subprocess.run(command, check=True, capture_output=True, text=True)
            times.setdefault((kind, gap_ns), []).append(float(took.stdout))
    least = {place: min(values) for place, values in times.items()}
    return {
        f"a packet each {gap_ns / 1000:g} us": {
            "plain_ns": least["plain", gap_ns],
            "radio_ns": least["radio", gap_ns],
            "ratio": round(least["radio", gap_ns] / least["plain", gap_ns], 2),
        }
        for gap_ns in GAPS_NS
    }


def _compiled(directory: Path) -> Path:
    """Return the program, compiled as the native core is."""
    folder, program = EXTENSION.folder, directory / "legs"
    sources = [path for pattern in SOURCES for path in sorted(folder.glob(pattern))]
    flags = [flag for flag in FLAGS if flag != "-fPIC"]
    own = Path(__file__).with_suffix(".c")
    paths = [f"-I{folder}", "-o", str(program), *map(str, (own, *sources))]
    command = ["cc", *flags, *FAST, "-D_POSIX_C_SOURCE=200809L", *paths, "-lm"]
    subprocess.run(command, check=True)
    return program


def _saved(rlc: Any, path: Path) -> Path:
    """Write the parameters of RLC as C has them."""
    path.write_bytes(bytes(library().ffi.buffer(struct_of("rlc_parameters", rlc.parameters()))))
    return path
