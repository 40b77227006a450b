"""Expressions of campaigns: what they come to, and that they can do nothing but compute."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc.campaign.file.expressions import Evaluation, compute, compute_number, names_in
from minitopo_dc.campaign.file.fields import campaign_names, find_campaign
from minitopo_dc.campaign.file.grammar import DEEPEST, LONGEST, MAX_STEPS, ExpressionError
from minitopo_dc.campaign.file.scenarios import Overrides, read_file
from minitopo_dc.campaign.file.values import Keys

MAX_SECONDS = 1.0
LABELS: dict[str, Any] = {
    "rate": 2.5,
    "share": 0.3,
    "capacity": "lte",
    "hops": [],
    "n": 3,
    "places": {"lte": {"near": "a.csv"}, "list": [1, 2]},
}


class Measures(Keys):
    """A configuration with a measure."""

    def look_up(self, key: Any) -> float:
        if key != "goodput_mbps":
            raise LookupError(f"no {key}")
        return 8.0


COLUMNS: dict[str, Any] = {
    "gain": np.array([0.5, 1.0, 2.0, 4.0]),
    "loss": np.array([2.0, 1.0, 0.5, 0.0]),
    "dc": Measures(),
    "rate": 2.5,
}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("= rate * 2", 5.0),
        ("=[rate, 1]", [2.5, 1]),
        ("= (rate, n)", [2.5, 3]),
        ("= round(rate * 4)", 10),
        ("= [round(20 * share), max(round(20 * (1 - share)), 1)]", [6, 14]),
        ("= round(10 / 3, 2)", 3.33),
        ("= 1 / 3", 0.333333333),
        ("= {'a': 1 / 3}", {"a": 0.333333333}),
        ("= 'a' if rate > 2 else 'b'", "a"),
        ("= none if capacity == 'lte' else rate", None),
        ("= True and not false", True),
        ("= 1 < rate < 2", False),
        ("= 1 < n <= 3", True),
        ("= 'big' if rate > 2 and hops else 'small'", "small"),
        ("= rate or missing", 2.5),
        ("= {'constant': none, 'lte': '../' + capacity + '.csv'}[capacity]", "../lte.csv"),
        ("= places.lte.near", "a.csv"),
        ("= places['lte'][\n'near']", "a.csv"),
        ("= places.list[-1]", 2),
        ("= capacity in ['drive', 'lte'] and 'rest' not in places", True),
        ("= 'leg ' + str(n) + ' é #'", "leg 3 é #"),
        ("= max(rate, n)", 3),
        ("= [min([n, rate]), most([1, 2]), least(4, 3)]", [2.5, 2, 3]),
        ("= [7 // 2, -7 % 3, 2 ** 10, abs(-2), int(2.9), floor(-0.5), ceil(0.5)]",
         [3, 2, 1024, 2, 2, -1, 1]),
        ("= [sqrt(16), log(exp(2)), sum([1, 2]), mean([1, 2]), median([3, 1, 2])]",
         [4, 2, 3, 1.5, 2]),
        ("= [quantile([3, 1, 2], 0.5), share([true, false])]", [2, 0.5]),
        ("= rank_correlation([1, 2, 2, 9], [8, 3, 3, -1])", -1.0),
        ("= rank_correlation([1, 2, 3, 4], [2, 1, 4, 3])", 0.6),
        ("rate", "rate"),
    ],
)  # fmt: skip
def test_an_expression_gives_numbers_texts_and_lists(text: str, value: Any) -> None:
    evaluation = Evaluation({f"label.{name}": each for name, each in LABELS.items()}, {})
    found = evaluation.of({"a": [text]})
    assert found == {"a": [value]}
    assert type(found["a"][0]) is type(value)


def test_a_rank_correlation_needs_values_and_an_order() -> None:
    assert compute_number("= rank_correlation([1, 1], [1, 2])", {}) == 0
    lacking = compute_number("= rank_correlation([1, 2], [1, nothing])", {"nothing": math.nan})
    assert math.isnan(lacking)
    with pytest.raises(ExpressionError, match="as many values are wanted on both sides"):
        compute_number("= rank_correlation([1, 2], [1, 2, 3])", {})


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("= share(gain >= 1)", 0.75),
        ("= share((gain > 0.5) * (loss > 0))", 0.5),
        ("= mean(gain) / mean(loss)", 7.5 / 3.5),
        ("= median(gain / loss)", 2.5),
        ("= most(1 - gain)", 0.5),
        ("= least([mean(gain) - 1, mean(loss)])", 0.875),
        ("= quantile(gain, 0.25)", 0.5),
        ("= sum(-gain)", -7.5),
        ("= dc.goodput_mbps / rate", 3.2),
        ("= dc['goodput_mbps'] / 0", math.inf),
        ("= -1 / (rate - rate)", -math.inf),
        ("= 1e308 ** 2", math.inf),
        ("= gain > 1 if rate == 1 else true", 1.0),
    ],
)
def test_columns_and_measures_give_a_number(text: str, value: float) -> None:
    assert compute_number(text, COLUMNS) == pytest.approx(value, rel=1e-8)


@pytest.mark.parametrize("text", ["= 0 / 0", "= (-8) ** 0.5", "= max(1, 0 / 0)", "= log(-1)"])
def test_what_is_no_number_over_points_is_not_a_number(text: str) -> None:
    assert math.isnan(compute_number(text, COLUMNS))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("= speed * 2", "'speed' is undefined; names here: rate, share"),
        ("= speed", "'speed' is undefined"),
        ("= rate / 0", "a division by zero"),
        ("= 10.0 ** 400", "too large a number"),
        ("= (-8) ** 0.5", "a root of a number below 0"),
        ("= rate *", "invalid syntax"),
        ("= rate + 'x'", r"\+: a number is wanted, not a text"),
        ("= 'x' * 3", r"\*: a number is wanted, not a text"),
        ("= capacity < 3", "a text and a number have no order"),
        ("= n in 3", "in: a list is wanted, not a number"),
        ("= places.wifi", r"no 'wifi' in \['lte', 'list'\]"),
        ("= places.list.append", "a list has no 'append'"),
        ("= mean(1)", "mean: a list or a column is wanted, not a number"),
        ("= mean([])", "mean: a list without numbers"),
        ("= mean([1], 2)", "mean: too many positional arguments"),
        ("= share([3])", "share: a condition is wanted, such as gain > 1"),
        ("= share * share(1)", "share: a list or a column is wanted"),
        ("= upper('a')", "'upper' is no function; functions here: min, max"),
        ("= round(1, -1000000000)", "round: 0 to 15 places are allowed"),
        ("= int(1e999)", "int: cannot convert float infinity to integer"),
    ],
)
def test_an_expression_that_cannot_be_worked_out_says_so(text: str, message: str) -> None:
    with pytest.raises(ExpressionError, match=message):
        compute(text, LABELS)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("= [rate, 1]|max", r"round\(a\) in place of a\|round, max\(a, b\) of \[a, b\]\|max"),
        ("= (rate * 4)|round|int", r"filters are functions: round\(a\) in place of a\|round"),
        ("= {'lte': 1}.get(capacity)", r"methods are not called; look up a key by d\[key\]"),
        ("= 'leg' ~ n", r"a \+ str\(b\) in place of a ~ b"),
        ("= rate is none", "write == in place of `is`"),
    ],
)
def test_the_language_of_before_is_told_what_to_write(text: str, message: str) -> None:
    with pytest.raises(ExpressionError, match=message):
        compute(text, LABELS)


HOSTILE = [
    "= gain.tofile('{file}')",
    "= gain.dump('{file}')",
    "= gain.tofile",
    "= gain['tofile']",
    "= gain.T.base",
    "= gain[0]",
    "= dc.__class__",
    "= dc.look_up('x')",
    "= rate.__class__.__mro__",
    "= rate.real",
    "= (1.5).hex()",
    "= ''.join(['a'])",
    "= '{0.__class__}'.format(gain)",
    "= '%s' % gain",
    "= '%999999999d' % 1",
    "= f'{gain}'",
    "= mean.__globals__",
    "= mean",
    "= __import__('os').system('id > {file}')",
    "= open('{file}', 'w')",
    "= eval('1')",
    "= getattr(gain, 'tofile')('{file}')",
    "= lipsum(n=100000)",
    "= range(99999)|map('center', 99999)|list",
    "= range(9999999)",
    "= self._TemplateReference__context",
    "= cycler.__init__.__globals__",
    "= 9 ** 9 ** 9",
    "= 10 ** 10 ** 10 ** 10",
    "= (9 ** 3000) ** 2",
    "= (9 ** 3000) * (9 ** 3000)",
    "= 2.0 ** 99999 + 9 ** 99999",
    "= 1 << 999999999",
    "= 'a' * 999999999",
    "= [0] * 999999999",
    "= round(7, -999999999)",
    "= str(9 ** 99999)",
    "= long + long",
    "= [[[[many, many], [many, many]], many], many]",
    "= {{**many}}",
    "= [*many]",
    "= [gain, gain]",
    "= {{gain: 1}}",
    "= {{[1]: 1}}",
    "= gain and loss",
    "= 1 if gain else 2",
    "= 0 < gain < 1",
    "= gain",
    "= dc",
    "= dc + 1",
    "= gain + dc",
    "= gain == 'a'",
    "= gain in [gain]",
    "= lambda: 1",
    "= (lambda: 1)()",
    "= (x := 1)",
    "= [x for x in [1, 2]]",
    "= mean(x for x in [1])",
    "= max(*[1, 2])",
    "= max(key=1)",
    "= many[0:2]",
    "= await rate",
    "= (yield 1)",
    "= 1j",
    "= b'a'",
    "= ...",
    "= '\\N{{BULLET}}'",
    "= \uff4dean([1])",
    "= dc.\uff47oodput_mbps",
    "= r\u0430te",
    "= rate # + 1",
    "= rate; rate",
    "= rate\x00",
    "= \ud800",
    "=",
    "= " + "(" * 900 + "1" + ")" * 900,
    "= " + "[" * 90 + "]" * 90 + "[" * 1000,
    "= " + "-" * 1900 + "1",
    "= " + "not " * 400 + "1",
    "= " + "2 ** " * 300 + "2",
    "= rate" + ".rate" * 300,
    "= " + "mean([" * 150 + "1" + "])" * 150,
    "= " + "1 + " * 600 + "1",
    "= [" + "1, " * 600 + "1]",
    "= " + "1 if 1 else " * 150 + "1",
    "= '" + "a" * 3000 + "'",
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_what_does_more_than_compute_is_one_line_at_once(text: str, tmp_path: Path) -> None:
    written = tmp_path / "written"
    names = COLUMNS | {"many": list(range(900)), "long": "a" * 9_000}
    begun = time.process_time()
    with pytest.raises(ExpressionError) as refused:
        compute_number(text.replace("{{", "{").replace("}}", "}").replace("{file}", str(written)),
                       names)  # fmt: skip
    assert time.process_time() - begun < MAX_SECONDS
    assert len(str(refused.value)) < 1_000
    assert str(refused.value).isprintable()
    assert not list(tmp_path.iterdir())


def test_limits_are_named() -> None:
    for text, message in (
        (f"= '{'a' * LONGEST}'", f"{LONGEST + 2} characters; allowed: {LONGEST}"),
        (f"= [{'1,' * MAX_STEPS}]", f"{MAX_STEPS + 1} steps; allowed: {MAX_STEPS}"),
        ("= " + "-" * DEEPEST + "1", f"allowed: {DEEPEST} parts within each other"),
        ("= 2 ** 10001", "a whole number of more than 10000 bits"),
        ("= long + long", "a text of more than 10000 characters"),
        ("= [many, many]", "more than 1000 items of a list or dictionary"),
        ("= mean(wide) + mean(wide)", "more than 100000 numbers of columns"),
        ("= date", "a value of type PosixPath"),
    ):
        names = {
            "many": list(range(600)),
            "long": "a" * 9_000,
            "wide": np.ones(75_000),
            "date": Path(),
        }
        with pytest.raises(ExpressionError, match=message):
            compute(text, names)


def numbers() -> st.SearchStrategy[str]:
    whole = st.integers(0, 10**6).map(str)
    return whole | st.floats(0, 1e6, allow_subnormal=False).map(repr)


def larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "//", "%"]), inner).map(
            lambda each: f"({' '.join(each)})"
        ),
        st.tuples(inner, st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), inner).map(
            lambda each: f"({' '.join(each)})"
        ),
        st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(lambda e: f"({' '.join(e)})"),
        st.tuples(inner, inner, inner).map(lambda e: f"({e[0]} if {e[1]} else {e[2]})"),
        inner.map(lambda each: f"(-{each})"),
        inner.map(lambda each: f"(not {each})"),
        st.tuples(inner, st.integers(-3, 3)).map(lambda e: f"({e[0]} ** ({e[1]}))"),
        st.lists(inner, min_size=1, max_size=3).map(lambda e: f"max([{', '.join(e)}])"),
        st.tuples(inner).map(lambda e: f"abs({e[0]})"),
    )


@given(st.recursive(numbers(), larger, max_leaves=12))
def test_numbers_come_to_what_python_says(text: str) -> None:
    try:
        wanted = eval(text, {"__builtins__": {"max": max, "abs": abs}})
    except (ZeroDivisionError, OverflowError):
        with pytest.raises(ExpressionError):
            compute(f"={text}", {})
        return
    found = compute(f"={text}", {})
    assert type(found) is type(wanted)
    assert found == (float(f"{wanted:.9g}") if isinstance(wanted, float) else wanted)


def test_an_expression_is_worked_out_anew_for_other_labels_and_types_of_theirs() -> None:
    known: dict[tuple[str, str], Any] = {}
    found = [Evaluation({"label.n": n}, known).of("= n + 1") for n in (1, 1.0, 2, 1)]
    assert [repr(each) for each in found] == ["2", "2.0", "3", "2"]
    assert len(known) == 3


def test_the_names_of_an_expression_are_those_of_its_values() -> None:
    assert names_in("= share(share > gain) + mean([dc.loss])") == {"share", "gain", "dc"}


@pytest.mark.parametrize("name", campaign_names())
def test_measures_and_claims_of_shipped_campaigns_use_what_is_there(name: str) -> None:
    file = read_file(find_campaign(name), Overrides())
    configurations = {each.replace("-", "_") for each in file.configurations}
    for experiment in file.experiments.values():
        known = {"nothing"} | {path.removeprefix("label.") for path in experiment.factors()}
        for column, text in experiment.joined.items():
            assert names_in(text) <= known | configurations
            known.add(column)
        for claim in experiment.claims:
            assert names_in(claim.value) <= set(experiment.joined)
