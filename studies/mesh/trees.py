"""Which features of a connection tell slow ones from fast ones (table 4, figure 7)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.tree import DecisionTreeClassifier, export_text

import minitopo_dc as dc
from minitopo_dc.statistics import Proportion

VARIANCES = [f"{end}_inter_packet_time_variance_ms2" for end in ("server", "client")]
"""These are goodput's, too: bursts of so many packets a round trip. Mean times between packets are
left out: a download's size divided by them is its goodput."""
FEATURES = [
    *(f"{end}_burstiness" for end in ("server", "client")),
    *("mean_delay_ms", "delay_variation_ms2", "packet_loss", "out_of_order", "ack_frequency"),
    *("cwnd_mean_kb", "cwnd_variance_kb2", "slow_start_share", "congestion_avoidance_share"),
    *("application_limited_share", "recovery_share"),
]
NETWORK = ["rate_mbps", "mpdu_error_percent", "load_percent", "loss_percent", "delay_ms",
           "queue_packets", "preset"]  # fmt: skip
ASKED = {
    "10 Mbit/s or more, by features": ("goodput_mbps", 10, [*VARIANCES, *FEATURES]),
    "10 Mbit/s or more, without variances of times": ("goodput_mbps", 10, FEATURES),
    "half of the capacity, by features": ("capacity_share", 0.5, FEATURES),
    # Not by what the connection was like, but by what was done to it.
    "half of the capacity, by the network": ("capacity_share", 0.5, NETWORK),
}
LEVELS, FEWEST, FOLDS, SEED = 3, 5, 5, 1
"""Of a tree that a person follows: as many levels, and points in a leaf."""
TOLD = 4
"""As many features the study names of a tree (figure 7)."""


def trees(runs: pd.DataFrame, transport: str) -> Iterator[tuple[str, Any]]:
    """Yield how well each tree tells points that it has not seen, and the trees."""
    title = f"Trees: which features tell slow connections of {transport} from fast ones"
    if (count := int((runs["status"] == "ok").sum())) < FOLDS * FEWEST:
        if len(runs):
            yield title, f"{count} runs are ok; a tree needs {FOLDS * FEWEST}."
        return
    lacking = [name for name in (*VARIANCES, *FEATURES) if name not in runs]
    known = dc.results.with_measures(runs, *lacking) if lacking else runs
    made = {name: tree(known[known["status"] == "ok"], *asked) for name, asked in ASKED.items()}
    rows = {name: row for name, (row, _) in made.items()}
    table = pd.DataFrame.from_dict(rows, orient="index").rename_axis("fast is")
    texts = [f"{name}: {text}" for name, (_, text) in made.items()]
    yield title, [table, *texts]


def tree(
    runs: pd.DataFrame, measure: str, least: float, factors: list[str]
) -> tuple[dict[str, Any], str]:
    """Return the accuracy of a tree on points that it has not seen, and what it asks first."""
    x = pd.get_dummies(runs[factors].dropna(axis=1, how="all")).fillna(0.0).astype(float)
    fast = (runs[measure] >= least).to_numpy()
    model = DecisionTreeClassifier(max_depth=LEVELS, min_samples_leaf=FEWEST, random_state=SEED)
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=SEED)
    right = Proportion(int((cross_val_predict(model, x, fast, cv=folds) == fast).sum()), len(x))
    text = export_text(model.fit(x, fast), feature_names=list(x), max_depth=0)
    usual = max(np.mean(fast), 1 - np.mean(fast))
    row = {
        "points": len(x),
        "accuracy on unseen points": f"{right.share:.2f} ({right.low:.2f} to {right.high:.2f})",
        "of the majority": usual,
        "root": x.columns[model.tree_.feature[0]],
        "most important": ", ".join(
            x.columns[model.feature_importances_.argsort()[: -TOLD - 1 : -1]]
        ),
    }
    return row, text.splitlines()[0].removeprefix("|--- ")
