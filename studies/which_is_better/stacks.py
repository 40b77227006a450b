"""Do two QUIC stacks agree on Dual Connectivity or multipath, and why do they differ?

Downloads with picoquic and noq, each with Dual Connectivity against its own multipath:

- `tenth`: every tenth of the study's 512 networks, CUBIC, medians of three seeds; the papers' Dual
  Connectivity, the deployable one with 5 and 0 ms of Xn, the ideal one;
- `controls`: the first 128 of them, each with all congestion controls that both stacks have; Dual
  Connectivity with 5 ms of Xn and the ideal one;
- `changed`: the networks and seeds of `tenth`, with one property of a stack changed;
- `clocks`, the sample: every fourth network of `tenth`, Dual Connectivity with 5 ms of Xn.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations, product
from pathlib import Path
from typing import Any

import pandas as pd
from campaign import DOWNLOADS, fields_of
from networks import Point, halves
from ratios import MARGIN, by_way, of, percent, same_and_opposite
from ways import MPQUIC

import minitopo_dc as dc
from minitopo_dc.statistics import outcomes, signs

Case = tuple[dc.Scenario, dict[str, Any]]
POINTS = {"full": (48, 128), "quick": (4, 4)}
STACKS = "picoquic", "noq"
MULTIPATH, WITH_XN, IDEAL = "multipath", "DC, Xn 5 ms", "DC, ideal"
WAYS = {
    "tenth": (MULTIPATH, "DC, papers'", WITH_XN, "DC, Xn 0 ms", IDEAL),
    "clocks": (MULTIPATH, WITH_XN),
}
"""Of an experiment; any other has three."""
CONTROLS: Mapping[str, tuple[str, str]] = {
    "newreno": ("newreno", "newreno"),
    "cubic": ("cubic", "cubic"),
    "bbr3": ("bbr", "bbr3"),
}
"""By name: what each stack calls it. noq has no other."""
CHANGES: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "slow start": {
        "picoquic": {"experiment": "no-hystart"},
        "noq": {"experiment": "hystart"},
    },
    "pacing": {
        "picoquic": {"experiment": "no-pacing"},
        "noq": {"experiment": "no-pacing"},
    },
    "acknowledgements": {"picoquic": {"experiment": "frequent-acks"}},
    "scheduler": {"picoquic": {"scheduler": "lowest-path"}},
    "second path": {"picoquic": {}, "noq": {}},
}
"""By property: the options of each stack in which it is changed."""
OF_PATHS = "scheduler", "second path"
"""Properties that one path has not."""
LOWEST_PATH = Path(__file__).with_name("lowest_path.py")
LATE_S = 0.02
"""After the handshake: when the second path opens where that is changed, and both stacks can."""


def cases(version: str) -> Iterator[Case]:
    """Yield each network with each stack and each way."""
    networks = dc.campaign.sobol(512, DOWNLOADS)
    if version == "sample":
        for network, stack in product(networks[::40][:12], STACKS):
            yield from at_network("clocks", network, "cubic", stack)
        return
    number, first = POINTS[version]
    tenth = networks[::10][:number]
    seeds = (1, 2, 3) if version == "full" else (1,)
    for network, stack, seed in product(tenth, STACKS, seeds):
        yield from at_network("tenth", network, "cubic", stack, seed=seed)
    for network, control, stack in product(networks[:first], CONTROLS, STACKS):
        yield from at_network("controls", network, control, stack)
    for network, (change, stacks), seed in product(tenth, CHANGES.items(), seeds):
        for stack in stacks:
            yield from at_network("changed", network, "cubic", stack, change, seed=seed)


def at_network(
    experiment: str, network: Point, control: str, stack: str, change: str = "", *, seed: int = 1
) -> Iterator[Case]:
    """Yield the ways of a stack at a network that an experiment has, and that a change concerns."""
    own = dict(zip(STACKS, CONTROLS[control], strict=True))[stack]
    base = dc.Scenario(**fields_of({**network, "control": own}))
    base = base.evolve(transport=f"quic-{stack}", seed=seed)
    labels = {"experiment": experiment, "stack": stack, "changed": change or None}
    for way, scenario in ways(base, stack):
        if way not in WAYS.get(experiment, (MULTIPATH, WITH_XN, IDEAL)):
            continue
        if change in OF_PATHS and way != MULTIPATH:
            continue
        made = changed(scenario, stack, change, network) if change else scenario
        yield made, {**labels, "way": way, **network, "control": control}


def ways(base: dc.Scenario, stack: str) -> Iterator[tuple[str, dc.Scenario]]:
    """Yield multipath of a stack, and its Dual Connectivity."""
    yield MULTIPATH, base.evolve(**MPQUIC | {"transport": f"mpquic-{stack}"})
    yield "DC, papers'", base.with_dc("papers")
    yield WITH_XN, base.with_dc("deployable", xn_ms=5)
    yield "DC, Xn 0 ms", base.with_dc("deployable", xn_ms=0)
    yield IDEAL, base.with_dc("ideal")


def changed(scenario: dc.Scenario, stack: str, change: str, network: Point) -> dc.Scenario:
    """Return a scenario in which one property of a stack is another one."""
    options = {**scenario.options, **CHANGES[change][stack]}
    if change == "scheduler":
        return scenario.evolve(options=options, plugins=[str(LOWEST_PATH)])
    if change == "second path":
        (_, _, first), _ = halves(network)
        opens = {"at_s": round(4 * first["delay_ms"] / 1000 + LATE_S, 6), "open": 2}
        return scenario.evolve(paths={"initial": [1], "schedule": [opens], "each_carries": False})
    return scenario.evolve(options=options)


Sides = Mapping[str, pd.DataFrame]
"""By stack: the goodput of Dual Connectivity over that of multipath, by point and way."""


def report(runs: pd.DataFrame) -> Iterator[tuple[str, Any]]:
    """Yield each stack's shares of outcomes, where both have the same, and what explains others."""
    tenth = of(runs, "tenth")
    yield from outcomes_and_agreement("every tenth network, CUBIC", ratios(tenth))
    controls = of(runs, "controls")
    for control in controls["control"].unique():
        mine = controls[controls["control"] == control]
        yield from outcomes_and_agreement(f"the first networks, {control}", ratios(mine))
    if not (seeds := over_seeds(tenth)).empty:
        yield "every tenth network, CUBIC: networks with one outcome for two seeds", seeds
    if (explained := reasons(tenth, of(runs, "changed"))) is not None:
        yield "Networks with another outcome, and what gives the other stack's", explained


def outcomes_and_agreement(where: str, sides: Sides) -> Iterator[tuple[str, Any]]:
    """Yield two tables of some networks."""
    rows = {(way, stack): shares(table[way]) for stack, table in sides.items() for way in table}
    if not rows:
        return
    index = pd.MultiIndex.from_tuples(list(rows), names=["way", "stack"])
    yield (
        f"{where}: Dual Connectivity against multipath of the same stack",
        pd.DataFrame(list(rows.values()), index=index).sort_index(),
    )
    if len(sides) == len(STACKS):
        yield f"{where}: networks with one outcome over both stacks", agreement(sides)


def ratios(runs: pd.DataFrame) -> Sides:
    """Return the ratios of each stack that has runs; a run that failed has goodput 0."""
    tables = {}
    for stack in dict.fromkeys(runs["stack"]):
        goodputs = speeds_of(runs[runs["stack"] == stack])
        others = goodputs.drop(columns=MULTIPATH, errors="ignore")
        if MULTIPATH in goodputs:
            tables[stack] = others.div(goodputs[MULTIPATH], axis=0)
    return tables


def speeds_of(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the median goodput (Mbit/s) over seeds by point and way; 0 for a failed run."""
    runs = runs[["point", "way", "status", "goodput_mbps"]]
    runs.attrs["labels"] = ["point", "way"]
    return by_way(runs, "goodput_mbps", failed=0.0)


def shares(values: pd.Series) -> dict[str, Any]:
    """Return the shares of the three outcomes, and the quartiles of the ratio."""
    counted = outcomes(values.dropna().to_numpy(dtype=float), MARGIN)
    low, middle, high = counted.ratios
    return {
        "networks": counted.better.points,
        "better (%)": percent(counted.better),
        "tie (%)": percent(counted.tie),
        "worse (%)": percent(counted.worse),
        "ratio": f"{middle:.3f} ({low:.3f} to {high:.3f})",
    }


def signed(sides: Sides, way: str) -> pd.DataFrame:
    """Return the outcome of each stack (`signs`) at the networks that all have."""
    table = pd.DataFrame({stack: ratio[way] for stack, ratio in sides.items()}).dropna()
    outcome_of = {name: signs(table[name].to_numpy(dtype=float), MARGIN) for name in table}
    return pd.DataFrame(outcome_of, index=table.index)


def agreement(sides: Sides) -> pd.DataFrame:
    """Return how many networks have the same outcome over both stacks, and how many opposite."""
    rows = {}
    for way in sides[STACKS[0]].columns.intersection(sides[STACKS[1]].columns):
        one, other = signed(sides, way)[list(STACKS)].to_numpy().T
        same, opposite = same_and_opposite(one, other)
        rows[way] = {"networks": len(one), "same": same, "opposite": opposite}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("way")


def over_seeds(tenth: pd.DataFrame) -> pd.DataFrame:
    """Return at how many networks of a stack two seeds have one outcome: fewest and most."""
    rows = []
    for stack, mine in tenth.groupby("stack", sort=False):
        of_seed = [ratios(one)[str(stack)] for _, one in mine.groupby("seed")]
        for way in (WITH_XN, IDEAL) if len(of_seed) > 1 else ():
            sides = [signs(one[way].to_numpy(dtype=float), MARGIN) for one in of_seed]
            same = [int((one == other).sum()) for one, other in combinations(sides, 2)]
            rows.append({"stack": stack, "way": way, "fewest": min(same), "most": max(same)})
    return pd.DataFrame(rows)


def reasons(tenth: pd.DataFrame, changed: pd.DataFrame) -> pd.DataFrame | None:
    """Return at how many networks whose outcomes differ a change gives the other stack's outcome.

    `same` counts all networks at which the changed stack has the outcome of the other one.
    """
    base, rows = ratios(tenth), []
    if changed.empty or len(base) < len(STACKS):
        return None
    for (change, stack), mine in changed.groupby(["changed", "stack"], sort=False):
        goodputs = speeds_of(tenth[tenth["stack"] == stack])
        goodputs.update(speeds_of(mine))
        new = goodputs.div(goodputs[MULTIPATH], axis=0)
        for way in (WITH_XN, IDEAL):
            after = signed({**base, "changed": new}, way)
            mine_before, other = after[stack], after[{*STACKS}.difference({stack}).pop()]
            differ, opposite = mine_before != other, mine_before * other == -1
            fits = after["changed"] == other
            rows.append({
                "changed": change, "in": stack, "way": way,
                "differ": int(differ.sum()), "explained": int((differ & fits).sum()),
                "opposite": int(opposite.sum()),
                "no longer opposite": int((opposite & (after["changed"] * other != -1)).sum()),
                "same": int(fits.sum()), "same before": int((~differ).sum()),
                "explained networks": ", ".join(map(str, fits.index[differ & fits])),
            })  # fmt: skip
    return pd.DataFrame(rows).set_index(["changed", "in", "way"])
