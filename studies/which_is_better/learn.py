"""What decides a ratio, by scikit-learn: boosted models with importances and effects, and trees.

Errors are those on points that a model has not seen (5 folds, 3 times). They stand beside those of
a constant, and beside what the scatter of repetitions leaves to any model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from ratios import factors_of, percent
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.inspection import permutation_importance
from sklearn.model_selection import GridSearchCV, RepeatedKFold, StratifiedKFold, cross_val_predict
from sklearn.tree import DecisionTreeClassifier

from minitopo_dc.statistics import Proportion, bootstrap_interval

Numbers = NDArray[np.float64]
FOLDS, REPEATS, SEED = 5, 3, 1
FEWEST = 5 * FOLDS
"""The fewest points of a model: a fold of fewer than five tells nothing."""
MODEL = GradientBoostingRegressor(
    n_estimators=150,
    learning_rate=0.05,
    max_depth=3,
    min_samples_leaf=5,
    subsample=0.7,
    random_state=SEED,
)
"""Shallow trees, slowly learnt, from a part of the points each: fixed beforehand, never tuned."""
BINS = 8
"""Of an effect: within its bin each point is moved, so that no network is asked for that is not."""
LEVELS = range(1, 5)
"""Of a tree that a person follows; a leaf has at least five points."""
FEWEST_OF_A_SIDE = 7
"""Of points with one answer: each fold, and each fold of what is left, then has one."""


def models(
    points: pd.DataFrame, measure: str, factors: Sequence[str], apart: str
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return how well the logarithm of a ratio is foretold, and what permuting a factor costs.

    Args:
        points: with factors and ratio.
        measure: the ratio; points where it is 0 or infinite do not count.
        factors: columns.
        apart: each value of this column has a model of its own.
    """
    errors, rises = {}, {}
    for name, mine in _finite(points, measure).groupby(apart):
        if len(mine) >= FEWEST:
            errors[name], rises[name] = _cross_validated(mine, measure, factors)
    rows = (pd.DataFrame.from_dict(each, orient="index").rename_axis(apart)
            for each in (errors, rises))  # fmt: skip
    first, second = rows
    return first, second


def _cross_validated(
    points: pd.DataFrame, measure: str, factors: Sequence[str]
) -> tuple[dict[str, Any], dict[str, float]]:
    x, y = factors_of(points, factors), np.log(points[measure].to_numpy(dtype=float))
    said, constant, squared, rises = np.zeros(len(y)), np.zeros(len(y)), 0.0, []
    folds = RepeatedKFold(n_splits=FOLDS, n_repeats=REPEATS, random_state=SEED)
    for number, (known, test) in enumerate(folds.split(x)):
        model = clone(MODEL).set_params(random_state=SEED + number).fit(x.iloc[known], y[known])
        there = model.predict(x.iloc[test])
        said[test] += there / REPEATS
        squared += ((there - y[test]) ** 2).sum() / REPEATS
        constant[test] += np.abs(np.median(y[known]) - y[test]) / REPEATS
        rise = permutation_importance(model, x.iloc[test], y[test], random_state=SEED,
                                      scoring="neg_mean_absolute_error")  # fmt: skip
        rises.append(rise["importances_mean"])
    ends = bootstrap_interval(np.stack([y, said])[:, np.newaxis], _r2)
    r2 = 1 - squared / ((y - y.mean()) ** 2).sum()
    row = {
        "points": len(y),
        "R²": f"{r2:.2f} ({ends.low:.2f} to {ends.high:.2f})",
        "mean error": np.abs(said - y).mean(),
        "of a constant": constant.mean(),
        "variance": y.var(ddof=1),
    }
    return row, dict(zip(x, np.mean(rises, axis=0), strict=True))


def _r2(target: Numbers, said: Numbers) -> float:
    return float(1 - ((target - said) ** 2).sum() / ((target - target.mean()) ** 2).sum())


def noise(again: pd.DataFrame, measure: str, apart: str) -> pd.DataFrame:
    """Return the scatter of repetitions: of points with a row each seed, by `apart`."""
    known = _finite(again, measure)
    known = known.assign(log=np.log(known[measure]))
    groups = known.groupby([apart, "point"])["log"]
    known = known.assign(away=(known["log"] - groups.transform("mean")).abs())
    scatter = known.groupby([apart, "point"]).agg(
        variance=("log", "var"), error=("away", "mean"), count=("log", "count")
    )
    several = scatter[scatter["count"] > 1]
    # A mean of n values is nearer to them than the expected value is, by this much.
    nearer = np.sqrt(several["count"] / (several["count"] - 1))
    return several.assign(error=several["error"] * nearer).groupby(apart).mean()


def effects(points: pd.DataFrame, measure: str, factors: Sequence[str]) -> dict[str, pd.DataFrame]:
    """Return by what the ratio is multiplied as a factor grows (accumulated local effects).

    Apley and Zhu, Journal of the Royal Statistical Society B 82, 2020.
    """
    known = _finite(points, measure)
    x = factors_of(known, factors)
    model = MODEL.fit(x, np.log(known[measure].to_numpy(dtype=float)))
    return {name: table for name in factors for table in _effect(model, x, name)}


def _effect(model: Any, x: pd.DataFrame, name: str) -> Iterator[pd.DataFrame]:
    edges = np.unique(np.quantile(x[name], np.linspace(0, 1, BINS + 1)))
    if len(edges) < 2:
        return
    place = np.clip(np.searchsorted(edges, x[name]) - 1, 0, len(edges) - 2)
    low, high = x.assign(**{name: edges[place]}), x.assign(**{name: edges[place + 1]})
    steps = pd.Series(model.predict(high) - model.predict(low)).groupby(place)
    counts = steps.count().reindex(range(len(edges) - 1), fill_value=0)
    sums = np.append(0.0, steps.mean().reindex(counts.index, fill_value=0.0).cumsum())
    middle = np.average((sums[1:] + sums[:-1]) / 2, weights=counts)
    yield pd.DataFrame({name: edges, "factor": np.exp(sums - middle)})


Answers = Callable[[pd.DataFrame], Mapping[str, "pd.Series[bool]"]]
"""Returns by statement at which points of a table it is true, without those of no value."""


def trees(
    points: pd.DataFrame,
    answers: Answers,
    factors: Sequence[str],
    unseen: pd.DataFrame | None = None,
) -> Iterator[str | pd.DataFrame]:
    """Yield of each statement with points enough a sentence and the leaves of its tree.

    Args:
        points: with the factors.
        answers: what is asked.
        factors: columns.
        unseen: points of another design, to test the trees on.
    """
    there = {} if unseen is None else answers(unseen)
    for words, yes in answers(points).items():
        if min(yes.sum(), (~yes).sum()) >= FEWEST_OF_A_SIDE:
            x = factors_of(points.loc[yes.index], factors)
            search = tree()
            right = cross_val_predict(search, x, yes, cv=search.cv) == yes
            usual = bool(2 * yes.sum() > len(yes))
            search.fit(x, yes)
            said = [f"{words}: right at {_right(right, yes == usual)} of points held out"]
            if unseen is not None:
                its = factors_of(unseen.loc[there[words].index], factors)
                guess = search.predict(its.reindex(columns=list(x), fill_value=0.0))
                alike = guess == there[words], there[words] == usual
                said.append(f"at {_right(*alike)} of those of another design")
            yield ", ".join(said) + "."
            leaves = _leaves(search.best_estimator_.tree_, list(x))
            yield pd.DataFrame(leaves, columns=list(Leaf._fields))


def _right(right: pd.Series[bool], usual: pd.Series[bool]) -> str:
    """Return how often a tree is right, and how often the most frequent answer is."""
    parts = [percent(Proportion(int(its.sum()), len(its))) for its in (right, usual)]
    return "{} %, always the same answer at {} %".format(*parts)


def tree() -> Any:
    """Return a learner of trees with as many levels as the points support, at least one.

    They have the fewest whose accuracy is within one standard error of the best (Breiman et al.,
    Classification and Regression Trees, 1984).
    """
    return GridSearchCV(
        DecisionTreeClassifier(min_samples_leaf=5, random_state=SEED),
        {"max_depth": list(LEVELS)},
        cv=StratifiedKFold(FOLDS, shuffle=True, random_state=SEED),
        refit=_fewest_levels,
    )


class Leaf(NamedTuple):
    """A leaf of a tree, or what is left of two that say the same."""

    where: str
    answer: str
    points: int
    right: int
    """Of the points that it was grown from."""


def _leaves(tree: Any, names: Sequence[str], node: int = 0, where: str = "") -> list[Leaf]:
    points, share = int(tree.n_node_samples[node]), float(tree.value[node][0][1])
    is_yes = share > 0.5
    alone = [Leaf(where, "yes" if is_yes else "no", points,
                  round(points * max(share, 1 - share)))]  # fmt: skip
    if tree.children_left[node] < 0:
        return alone
    name, limit = names[tree.feature[node]], tree.threshold[node]
    is_level = " is " in name
    below, above = (f"not {name}", name) if is_level else (
        f"{name} <= {limit:.2g}", f"{name} > {limit:.2g}")  # fmt: skip
    sides = [(tree.children_left[node], below), (tree.children_right[node], above)]
    found = [leaf for child, words in sides
             for leaf in _leaves(tree, names, child, f"{where}, {words}".strip(", "))]  # fmt: skip
    return alone if len({leaf.answer for leaf in found}) == 1 else found


def _fewest_levels(results: dict[str, Any]) -> int:
    means, errors = results["mean_test_score"], results["std_test_score"] / np.sqrt(FOLDS - 1)
    best = int(np.argmax(means))
    return int(np.argmax(means >= means[best] - errors[best]))


def _finite(points: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Return the points whose ratio has a logarithm."""
    values = points[measure].to_numpy(dtype=float)
    known: pd.DataFrame = points[np.isfinite(values) & (values > 0)]
    return known
