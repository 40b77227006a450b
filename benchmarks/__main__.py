"""What it costs, against a baseline of the same call: `make benchmark` (root, a quiet machine).

Without a NAME all are measured but `backends`, whose legs of the kernel need netem, `estimates`,
which compares results and not times, `stops`, which tests the limits of trust, and `page`, which
needs a browser.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

from benchmarks import cores, cost, downloads, elements, estimates, legs, page, planning, stops
from minitopo_dc.interruption import interruptible

BENCHMARKS = {
    "elements": (elements.add_options, elements.measure),
    "pdcp": (downloads.add_repetitions, downloads.with_pdcp),
    "cores": (cores.add_options, cores.measure),
    "legs": (legs.add_options, legs.measure),
    "cost": (cost.add_options, cost.measure),
    "planning": (planning.add_options, planning.measure),
    "estimates": (estimates.add_options, estimates.measure),
    "stops": (stops.add_options, stops.measure),
    "page": (page.add_options, page.measure),
    "backends": (downloads.add_options, downloads.backends),
}
"""What adds the options of each, and what measures with them."""
USUAL = ("elements", "pdcp", "cores", "legs", "cost", "planning")


def main() -> None:
    """Run the chosen benchmark, or all the usual ones, and print one JSON object."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    actions = parser.add_subparsers(dest="name", metavar="NAME")
    for name, (add_options, measure) in BENCHMARKS.items():
        text = (measure.__doc__ or "").partition("\n")[0]
        add_options(actions.add_parser(name, help=text, description=text))
    chosen = parser.parse_args()
    figures: dict[str, Any] = {}
    try:
        for name in [chosen.name] if chosen.name else USUAL:
            _, measure = BENCHMARKS[name]
            figures[name] = measure(chosen if chosen.name else parser.parse_args([name]))
    except KeyboardInterrupt as interrupt:
        if interrupt.args:
            (figures[name],) = interrupt.args
        raise
    finally:
        print(json.dumps(figures, indent=1))  # noqa: T201


if __name__ == "__main__":
    with interruptible("what it has measured is printed"):
        main()
