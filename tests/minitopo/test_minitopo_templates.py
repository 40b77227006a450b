"""Templates give files that the parser takes, or one clear error."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from minitopo_dc import cli
from minitopo_dc.fields import SettingsError
from minitopo_dc.minitopo import read_minitopo, read_topology
from minitopo_dc.minitopo.render import DIRECTORY, SUFFIX, Template, render, templates
from minitopo_dc.scenario import LegDirection
from minitopo_dc.workloads import Ping

NAMES = {template.name for template in templates()}
TOPOLOGIES = ["n-path.topo", "two-path-dc.topo", "two-path-multipath.topo"]
"""Those that take rates or traces."""


@pytest.mark.parametrize("template", templates(), ids=lambda template: template.name)
def test_every_parameter_of_a_header_is_used(template: Template) -> None:
    files = [DIRECTORY / f"{template.name}{SUFFIX}", DIRECTORY / "_paths.j2"]
    body = "".join(file.read_text(encoding="utf-8").split("#}\n")[-1] for file in files)
    for parameter in template.parameters:
        assert re.search(rf"[{{(%] *.*\b{parameter['name']}\b", body)
        assert parameter["about"]


def write(directory: Path, name: str, *values: str) -> Path:
    path = directory / name
    assert cli.main(["template", "render", name, *values, "-o", str(path)]) == 0
    return path


def test_a_dual_connectivity_file_has_what_was_asked_for(tmp_path: Path) -> None:
    values = ("delay=10,40", "rate=20,5", "ratio=9,1", "tReordering=100", "snBits=12", "jitter=0")
    topology = write(tmp_path, "two-path-dc.topo", *values)
    scenario = read_minitopo(topology, write(tmp_path, "download.xp", "size=100")).scenario
    assert [leg.downlink.delay_ms for leg in scenario.legs] == [10, 40]
    assert [leg.downlink.rate_mbps for leg in scenario.legs] == [20, 5]
    assert (scenario.pdcp.ratio, scenario.pdcp.t_reordering_ms.setting) == ((9, 1), 100)
    assert (scenario.mode, scenario.workload.size_bytes) == ("dc", 102_400)


def test_any_number_of_paths_and_of_server_paths_can_be_had(tmp_path: Path) -> None:
    topology = write(tmp_path, "n-path.topo", "n=5", "servers=2", "loss=1")
    scenario = read_minitopo(topology, write(tmp_path, "ping.xp", "interval=0.5")).scenario
    assert (len(scenario.legs), len(scenario.real.backhaul)) == (5, 2)
    assert scenario.workload == Ping(count=5, interval_s=0.5)


@pytest.mark.parametrize("clock", ["real", "virtual"])
def test_fairness_is_a_run_of_several_flows(clock: str, tmp_path: Path) -> None:
    topology = write(tmp_path, "two-path-dc.topo")
    experiment = write(tmp_path, "fairness.xp", "sc=2", f"clock={clock}")
    scenario = read_minitopo(topology, experiment).scenario
    assert (scenario.transport, scenario.clock) == ("quic", clock)
    assert [flow.mode for flow in scenario.flows] == ["dc", "sc", "sc", "sc", "sc"]
    assert scenario.workload.lasts_s == 180
    sized = write(tmp_path, "fairness.xp", "duration=", "size=100", f"clock={clock}")
    scenario = read_minitopo(topology, sized).scenario
    assert (scenario.workload.lasts_s, scenario.workload.size_bytes) == (None, 102_400)


@pytest.mark.parametrize("name", TOPOLOGIES)
def test_a_trace_becomes_changes_that_carry_as_many_bits(name: str, tmp_path: Path) -> None:
    trace = tmp_path / "t.csv"
    trace.write_text("time_s,rate_mbps\n0,10\n1,20\n2,20\n3,0\n4,5\n", encoding="utf-8")
    topology = read_topology(write(tmp_path, name, f"trace={trace}"))
    assert [change.at_s for change in topology.c2r[1].changes] == [1, 3, 4]
    capacity = LegDirection.check(topology.c2r[1].leg()["downlink"], "test").capacity()
    bits = [capacity.bits_between(at * 10**9, (at + 1) * 10**9) for at in range(5)]
    assert bits == [10e6, 20e6, 20e6, 1e3, 5e6]


@pytest.mark.parametrize(
    ("name", "values", "words"),
    [
        ("three-path.topo", [], "no template 'three-path.topo'; known: download.xp, fairness.xp, "),
        ("_paths", [], "no template '_paths'"),
        ("n-path.topo", ["paths=3"], "no 'paths'; known: n, delay"),
        ("n-path.topo", ["n=3\npath_c2r_9:1,1,1"], "write key=value"),
        ("n-path.topo", ["n=many"], "'many' is no number of paths"),
        ("n-path.topo", ["n=0"], "template n-path.topo: line 2: topoType: MultiIf needs"),
        ("n-path.topo", ["delay=1,2"], "1,2: 2 values for 3 paths; give 1 or 3"),
        ("n-path.topo", ["trace=none.csv"], r"trace none\.csv: No such file"),
        ("n-path.topo", ["trace=.", "step=0"], r"trace \., step 0|trace \.: no regular file"),
        ("download.xp", ["type=carrier-pigeon"], "line 1: xpType: .* allowed: none, ping"),
    ],
)
def test_a_wrong_value_is_one_clear_error(name: str, values: list[str], words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        render(name, values)


def test_the_list_shows_every_template_and_its_parameters(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.main(["template", "list"]) == 0
    shown = capsys.readouterr().out
    assert all(f"{name}: " in shown for name in NAMES)
    assert "tReordering=200" in shown


def test_without_a_file_the_text_goes_to_standard_output(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.main(["template", "render", "ping.xp", "count=3"]) == 0
    assert capsys.readouterr().out == "xpType:ping\npingCount:3\n"


OWN = """{#
One path.

rate=5    in Mbit/s
#}
topoType:MultiIf
path_c2r_0:10,20,{{ rate }}
"""


def test_a_path_renders_a_template_of_ones_own(tmp_path: Path) -> None:
    own = tmp_path / "mine.topo.j2"
    own.write_text(OWN, encoding="utf-8")
    made = tmp_path / "topo"
    assert cli.main(["template", "render", str(own), "rate=7", "-o", str(made)]) == 0
    assert [path.link["rate_mbps"] for path in read_topology(made).c2r] == [7]


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("mine.j2", OWN, "ends in .topo.j2 or .xp.j2"),
        ("mine.topo.j2", OWN.removeprefix("{#\n"), "begins with a comment: a line {#"),
        ("mine.topo.j2", OWN.replace("MultiIf", "Star"), "allowed: MultiIf"),
        ("none.topo.j2", None, "No such file"),
    ],
)
def test_a_wrong_template_of_ones_own_is_one_clear_error(
    name: str, text: str | None, words: str, tmp_path: Path
) -> None:
    if text is not None:
        (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError, match=re.escape(words)):
        render(str(tmp_path / name), [])


@pytest.mark.parametrize("name", [name for name in sorted(NAMES) if name.endswith(".topo")])
def test_a_rendered_topology_has_no_line_that_is_ignored(name: str, tmp_path: Path) -> None:
    assert not read_topology(write(tmp_path, name)).ignored
