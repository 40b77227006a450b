"""A campaign's file becomes runs, or one clear error."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.campaign.file import scenarios
from minitopo_dc.campaign.file.plan import Plan, read_plan
from minitopo_dc.campaign.file.scenarios import Overrides
from minitopo_dc.scenario import Scenario
from minitopo_dc.scenario.field_paths import PathError, check_path, get_value, set_value
from minitopo_dc.scenario.identity import run_id
from minitopo_dc.settings import SettingsError
from minitopo_dc.workloads import as_download
from tests.campaign.campaigns import document, experiment, write


def plan(directory: Path, content: dict[str, Any], **overrides: Any) -> Plan:
    return read_plan(write(directory, content), Overrides(**overrides))


def test_a_grid_is_every_combination_in_every_configuration_and_repetition(tmp_path: Path) -> None:
    grid = {"pdcp.batch": [2, 100], "legs.0.downlink.loss_percent": [0, 1, 2]}
    made = plan(tmp_path, experiment(grid=grid))
    assert len(made.cells) == 2 * 2 * 3
    assert len(made.runs) == 2 * 2 * 3 * 2
    found = {
        (run.scenario.pdcp.batch, run.scenario.legs[0].downlink.loss_percent) for run in made.runs
    }
    assert found == {(batch, loss) for batch in (2, 100) for loss in (0, 1, 2)}


def test_zipped_factors_move_together(tmp_path: Path) -> None:
    rates = {"legs.0.downlink.rate_mbps": [20, 24], "legs.1.downlink.rate_mbps": [20, 16]}
    made = plan(tmp_path, experiment(joint=[{**rates, "pdcp.ratio": [[1, 1], [3, 2]]}]))
    found = {
        (*(leg.downlink.rate_mbps for leg in run.scenario.legs), run.scenario.pdcp.ratio)
        for run in made.runs
    }
    assert found == {(20, 20, (1, 1)), (24, 16, (3, 2))}


def test_a_list_gives_cells_one_by_one(tmp_path: Path) -> None:
    made = plan(tmp_path, experiment(cells=[{"mode": "sc", "leg": 2}, {"mode": "dc-duplicate"}]))
    found = {(run.scenario.mode, run.scenario.leg) for run in made.runs}
    assert found == {("sc", 2), ("dc-duplicate", 1)}


def test_a_star_is_every_item_of_a_list(tmp_path: Path) -> None:
    made = plan(tmp_path, experiment(grid={"legs.*.downlink.loss_percent": [0.5]}))
    assert {leg.downlink.loss_percent for run in made.runs for leg in run.scenario.legs} == {0.5}


def test_a_label_describes_a_cell_and_changes_no_run(tmp_path: Path) -> None:
    made = plan(tmp_path, experiment(grid={"label.name": ["a", "b"]}))
    assert [cell.factors for cell in made.cells[:2]] == [
        {"label.name": "a"},
        {"label.name": "b"},
    ]
    assert len(made.runs) == 2 * 2
    assert made.cells[0].runs == made.cells[1].runs


def test_every_cell_has_the_same_seeds_and_first_repetitions_come_first(tmp_path: Path) -> None:
    made = plan(tmp_path, document(), seed=5)
    assert [run.scenario.seed for run in made.runs] == [5] * 4 + [6] * 4


def test_the_configurations_of_a_point_run_before_those_of_the_next_one(tmp_path: Path) -> None:
    """An unfinished campaign has whole points to compare."""
    made = plan(tmp_path, document(), repetitions=1)
    points = [run.scenario.model_dump(mode="json")["pdcp"]["batch"] for run in made.runs]
    assert points == [2, 2, 100, 100]


def test_cells_that_mean_the_same_scenario_share_their_runs(tmp_path: Path) -> None:
    both = {
        "a": {"title": "A", "grid": {"pdcp.batch": [100]}},
        "b": {"title": "B", "grid": {"workload.size_mb": [0.1]}},
    }
    made = plan(tmp_path, document(experiments=both))
    assert len(made.runs) == 2 * 2
    assert set(made.needed_by[made.runs[0].id]) == {"a", "b"}


def test_cells_that_mean_the_same_scenario_are_checked_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked: list[Scenario] = []
    monkeypatch.setattr(scenarios, "check_fields", checked.append)
    same = {"title": "Same", "grid": {"pdcp.batch": [2, 100]}}
    plan = read_plan(write(tmp_path, document(experiments={"one": same, "two": same})))
    assert (len(plan.cells), len(plan.runs), len(checked)) == (8, 8, 4)


def test_an_identity_depends_on_the_scenario_only(tmp_path: Path) -> None:
    first = plan(tmp_path, document())
    again = plan(tmp_path, document(title="Another title", retries=3))
    assert [run.id for run in first.runs] == [run.id for run in again.runs]
    assert len({run.id for run in first.runs}) == len(first.runs)


def test_an_identity_depends_on_what_a_trace_holds_not_on_where_it_is(tmp_path: Path) -> None:
    def with_trace(name: str, content: str) -> str:
        path = tmp_path / name
        path.write_text(content)
        legs = [{"downlink": {"trace": str(path)}}]
        values = {"transport": "quic", "mode": "sc", "legs": legs}
        return run_id(Scenario.check(values, "test"))

    first, same = with_trace("a.csv", "0,1\n1,2\n"), with_trace("b.csv", "0,1\n1,2\n")
    assert first == same
    assert with_trace("c.csv", "0,1\n1,3\n") != first


def test_an_identity_depends_on_what_a_plugin_holds(tmp_path: Path) -> None:
    def with_plugin(name: str, content: str) -> str:
        path = tmp_path / name
        path.write_text(content)
        leg = {"downlink": {"rate_mbps": 20}}
        values = {"transport": "quic", "mode": "sc", "legs": [leg], "plugins": [str(path)]}
        return run_id(Scenario.check(values, "test"))

    first, same = with_plugin("a.py", "LIMIT = 20\n"), with_plugin("b.py", "LIMIT = 20\n")
    assert first == same
    assert with_plugin("c.py", "LIMIT = 40\n") != first


def test_options_of_the_command_line_come_before_the_file(tmp_path: Path) -> None:
    made = plan(tmp_path, document(clock="real"), clock="virtual", size_mb=3, repetitions=1)
    assert {as_download(run.scenario.workload).size_mb for run in made.runs} == {3}
    assert {run.scenario.clock for run in made.runs} == {"virtual"}
    assert len(made.runs) == 4


def test_a_size_of_the_command_line_leaves_sizes_that_are_a_factor(tmp_path: Path) -> None:
    made = plan(tmp_path, experiment(grid={"workload.size_mb": [1, 2]}), size_mb=3)
    assert {as_download(run.scenario.workload).size_mb for run in made.runs} == {1, 2}


def test_quick_takes_fewer_cells_repetitions_and_bytes(tmp_path: Path) -> None:
    content = experiment(grid={"pdcp.batch": [2, 10, 100]}, quick={"pdcp.batch": [2, 100]})
    content["quick"] = {"repetitions": 1, "fields": {"workload.size_mb": 0.05}}
    made = plan(tmp_path, content, version="quick")
    assert [cell.factors["pdcp.batch"] for cell in made.cells] == [2, 100] * 2
    assert [as_download(run.scenario.workload).size_mb for run in made.runs] == [0.05] * 4
    assert len(plan(tmp_path, content).runs) == 2 * 3 * 2


def test_sample_keeps_other_cells_than_quick(tmp_path: Path) -> None:
    kept = {"quick": {"pdcp.batch": [2, 100]}, "sample": {"pdcp.batch": [10]}}
    content = experiment(grid={"pdcp.batch": [2, 10, 100]}, **kept)
    content["sample"] = {"repetitions": 1, "configurations": ["large"]}
    cells = plan(tmp_path, content, version="sample").cells
    assert [(cell.configuration, cell.factors["pdcp.batch"]) for cell in cells] == [("large", 10)]


def test_a_version_that_the_file_does_not_have_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="--sample: the file has no sample version"):
        plan(tmp_path, document(), version="sample")


def test_configurations_that_are_not_standard_have_to_be_named(tmp_path: Path) -> None:
    content = document(standard_configurations=["default"])
    assert {cell.configuration for cell in plan(tmp_path, content).cells} == {"default"}
    named = plan(tmp_path, content, configurations=("large",))
    assert {cell.configuration for cell in named.cells} == {"large"}


def test_fields_of_a_clock_are_used_on_this_clock_only(tmp_path: Path) -> None:
    content = document()
    content["configurations"]["default"]["virtual.processing_delay_ms"] = 1
    assert plan(tmp_path, content).runs[0].scenario.virtual.processing_delay_ms == 1
    real = plan(tmp_path, content, clock="real")
    assert real.runs[0].scenario.virtual.processing_delay_ms == 0


def test_a_parameter_stands_where_its_name_is(tmp_path: Path) -> None:
    (tmp_path / "trace.csv").write_text("0,5\n1,6\n")
    content = experiment(base={"legs.*.downlink": {"trace": "$trace"}}, cells=[{"pdcp.batch": 2}])
    content["parameters"] = {"trace": "missing.csv"}
    made = plan(tmp_path, content, parameters=(("trace", str(tmp_path / "trace.csv")),))
    assert made.runs[0].scenario.legs[1].downlink.trace == tmp_path / "trace.csv"


def test_a_relative_trace_is_relative_to_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "trace.csv").write_text("0,5\n1,6\n")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    content = experiment(cells=[{"legs.0.downlink": {"trace": "trace.csv"}}])
    made = plan(tmp_path, content)
    assert made.runs[0].scenario.legs[0].downlink.trace == tmp_path / "trace.csv"


def test_a_plan_is_the_same_after_saving_but_for_its_runs(tmp_path: Path) -> None:
    made = plan(tmp_path, document())
    assert Plan.from_json(made.to_json(), "plan.json") == replace(made, runs=())


CURVES = [{"configuration": "default", "mean": "quic_mbps"}]
FIGURE = {"x": "workload.size_mb", "curves": CURVES}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (experiment(grid={"pdcp.bach": [1]}), "experiments.one.grid: unknown factor pdcp.bach: "),
        (experiment(grid={"pdcp.bach": [1]}), "allowed: batch, buffer_packets, "),
        (experiment(grid={"speed": [1]}), "experiments.one.grid: unknown factor speed: "),
        (experiment(grid={"workload.size_mb.more": [1]}), "workload.size_mb has no fields"),
        (experiment(grid={"legs.one": [1]}), "one is no index in legs; allowed: 0, 1, ... or *"),
        (experiment(grid={"legs.2.downlink.delay_ms": [1]}), "2 is no index here; allowed: 0 to 1"),
        (experiment(grid={"pdcp.batch": [0]}), "pdcp.batch: 0; allowed: 1"),
        (experiment(grid={"pdcp.batch": []}), "experiments.one.grid.pdcp.batch: has 0 items"),
        (experiment(grid={"transport": ["quik"]}), "transport: quik; allowed: tcp, quic, "),
        (experiment(grid={"mode": ["multipath"]}), "transport quic allows sc, dc, dc-duplicate"),
        (
            experiment(grid={"options.buffer": [1]}),
            "runner quic: no option 'buffer'; did you mean receive_buffer_bytes? (known: ",
        ),
        (
            experiment(joint=[{"pdcp.batch": [1, 2], "workload.size_mb": [1]}]),
            "experiments.one.joint: as many values for all, please: pdcp.batch has 2, "
            "workload.size_mb has 1",
        ),
        (
            experiment(grid={"workload.size_mb": [1]}, cells=[{"workload.size_mb": 2}]),
            "workload.size_mb stands in more than one of them",
        ),
        (
            experiment(configurations=["small"]),
            "experiments.one.configurations: small is unknown; allowed: default, large",
        ),
        (
            document(standard_configurations=["small"]),
            "standard_configurations: small is unknown; allowed: default, large",
        ),
        (
            document(sample={"configurations": ["small"]}),
            "sample.configurations: small is unknown; allowed: default, large",
        ),
        (
            experiment(grid={"pdcp.batch": [2]}, quick={"workload.size_mb": [1]}),
            "experiments.one.quick: workload.size_mb is no factor here; allowed: pdcp.batch",
        ),
        (
            experiment(
                grid={"workload.size_mb": [2]},
                figure=FIGURE,
                reference={"table": "no.csv", "x": "size"},
            ),
            "reference/no.csv: No such file",
        ),
        (
            experiment(
                grid={"workload.size_mb": [2]}, figure={"x": "pdcp.batch", "curves": CURVES}
            ),
            "experiments.one.figure.x: pdcp.batch is no factor here; allowed: workload.size_mb",
        ),
        (
            experiment(
                grid={"workload.size_mb": [2]},
                figure=FIGURE,
                reference={"table": "thesis_table_5_2_file_size.csv", "x": "size"},
            ),
            "no column size; has: file_size_mb, quic_mbps",
        ),
        (document(experiments={}), "experiments: has 0 items; allowed: 1"),
        (document(repetition=3), "repetition: unknown field; did you mean repetitions"),
        (document(base={"sizes": 1}), "base: unknown factor sizes"),
        (document(sysctl={}), "sysctl: write real: {sysctl: ...}"),
        (
            experiment(
                base={"real.backhaul": [{"downlink": {"rate_mbps": 9}}]}, cells=[{"seed": 1}]
            ),
            "real.backhaul: needs clock: real",
        ),
        (
            experiment(base={"options": {}}, grid={"pdcp.batch": [2]}),
            "experiments.one: options replaces options.receive_buffer_bytes of "
            "configurations.large; put options below the file's base, or name its single fields",
        ),
        (
            experiment(cells=[{"options": {}}, {"seed": 2}]),
            "experiments.one: options replaces options.receive_buffer_bytes of",
        ),
        (
            experiment(
                base={"legs.0.downlink.queue_packets": 5}, cells=[{"legs": [{}]}, {"seed": 2}]
            ),
            "experiments.one: legs replaces legs.0.downlink.queue_packets of experiments.one.base",
        ),
    ],
)
def test_what_is_wrong_in_a_file_is_one_error_with_file_and_key(
    content: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(SettingsError) as caught:
        plan(tmp_path, content)
    text = str(caught.value)
    assert message in text
    assert text.startswith(str(tmp_path / "campaign.yaml"))
    assert len(text.splitlines()) == 1


def test_a_missing_trace_is_named_with_its_cell(tmp_path: Path) -> None:
    content = experiment(cells=[{"legs.0.downlink": {"trace": "gone.csv"}}])
    with pytest.raises(SettingsError, match=r"experiments.one \(default, .*gone.csv: No such file"):
        plan(tmp_path, content)


def test_a_file_that_is_no_yaml_is_an_error_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "campaign.yaml"
    path.write_text("title: [\nclock: virtual")
    with pytest.raises(SettingsError, match=r"campaign.yaml:2: "):
        read_plan(path)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"experiments": ("two",)}, "--experiments two: allowed: batch"),
        ({"configurations": ("tcp",)}, "--configurations tcp: allowed: default, large"),
        ({"parameters": (("trace", "x"),)}, "--parameter trace: unknown; allowed: none"),
    ],
)
def test_an_unknown_name_on_the_command_line_is_one_error(
    overrides: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(SettingsError, match=message):
        plan(tmp_path, document(), **overrides)


@pytest.mark.parametrize(
    "path",
    ["pdcp.batch", "legs.0.downlink.rate_mbps", "legs.*.uplink", "options.qlog", "label.anything"],
)
def test_a_path_to_a_field_is_accepted(path: str) -> None:
    check_path(path)


@pytest.mark.parametrize("path", ["", "label.", "legs.x", "pdcp.", "mode.sc"])
def test_a_path_to_no_field_is_refused(path: str) -> None:
    with pytest.raises(PathError, match="unknown factor"):
        check_path(path)


def test_a_value_is_found_where_it_was_put() -> None:
    scenario: dict[str, Any] = {"legs": [{}, {}]}
    set_value(scenario, "legs.*.downlink.rate_mbps", 5)
    assert scenario == {"legs": [{"downlink": {"rate_mbps": 5}}] * 2}
    assert get_value(scenario, "legs.1.downlink.rate_mbps") == 5
    assert get_value(scenario, "legs.2.downlink.rate_mbps") is None
    assert get_value(scenario, "pdcp.batch") is None
