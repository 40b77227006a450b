"""An option that there is not is one line, which names the one that may be meant."""

from __future__ import annotations

import pytest

from minitopo_dc import cli
from minitopo_dc.cli.entry import REPLACED
from minitopo_dc.scenario.field_paths import check_path


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (
            "compare --legs 40 12 --rtt 30 90",
            "compare: no option --rtt; did you mean --delay, which is one-way? "
            "`minitopo-dc compare --help` lists the options",
        ),
        (
            "compare --bandwith=3",
            "compare: no option --bandwith; `minitopo-dc compare --help` lists the options",
        ),
        ("run --size 3", "run: no option --size; `minitopo-dc run --help` lists the options"),
        (
            "campaign run study --sedes 3",
            "campaign run: no option --sedes; did you mean --seeds? "
            "`minitopo-dc campaign run --help` lists the options",
        ),
        (
            "compare --trace-columns x=3",
            "compare: no option --trace-columns; did you mean --trace-column? "
            "`minitopo-dc compare --help` lists the options",
        ),
        (
            "exec --legs 20 20 ping -c 1 10.0.0.2",
            "exec: no option -c; write -- before your program",
        ),
    ],
)
def test_an_unknown_option_is_one_line(
    line: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(line.split()) == 2
    assert capsys.readouterr().err == f"minitopo-dc: {words}\n"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("compare --clock x", "compare: --clock: invalid choice: 'x' (choose from"),
        ("compare --repetitions 1e3", "compare: --repetitions: no whole number in digits: '1e3'"),
        ("campaign run", "campaign run: the following arguments are required"),
    ],
)
def test_a_mistake_in_an_option_is_one_line(
    line: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(line.split()) == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert said.startswith(f"minitopo-dc: {words}")
    assert said.endswith("--help` lists the options")


@pytest.mark.parametrize("option", REPLACED)
@pytest.mark.parametrize("command", ["compare", "run", "exec", "calibrate"])
def test_an_option_that_is_gone_names_what_is_set_instead(
    option: str, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main([command, option, "5"]) == 2
    said = capsys.readouterr().err
    assert said == (f"minitopo-dc: {command}: {option} is gone; write --set {REPLACED[option]}\n")
    path = REPLACED[option].partition("=")[0]
    check_path(path.replace("legs.N", "legs.0").replace("pdcp.FIELD", "pdcp.batch"))


@pytest.mark.parametrize("command", ["compare", "run"])
def test_the_help_fits_on_a_screen_and_a_half(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    with pytest.raises(SystemExit):
        cli.main([command, "--help"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 75
    assert max(map(len, lines)) <= 100
