"""The commands of the pages exist, with these options: nothing of them is run but templates."""

from __future__ import annotations

import argparse
import contextlib
import functools
import importlib.util
import itertools
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from examples.page_load import __main__ as page_load
from examples.page_load import server as page_server
from minitopo_dc.cli import entry, main
from minitopo_dc.cli.commands import COMMANDS
from minitopo_dc.cli.options.rows import base_scenario, rows
from minitopo_dc.scenario import Clock
from minitopo_dc.scenario.leg import NoTraceError
from tests import REPOSITORY
from tests.docs.pages import IN_ORDER, PAGES, Block, blocks, code_spans, name

parser = functools.cache(entry.parser)
PROGRAM = "minitopo-dc"
PREFIXES = ("sudo",)
PUNCTUATION = {"&&", "|", ">", "<", ";"}
HERE_DOCUMENT = re.compile(r"<< '(\w+)'\n.*?\n\1\n", re.DOTALL)
TARGET = re.compile(r"^([a-z-]+):", re.MULTILINE)
OTHERS = {
    *("--", "--max-time", "--profile", "--test", "--topo"),
    *("--ignore-certificate-errors-spki-list", "--origin-to-force-quic-on"),
    *("--privileged", "--volume"),
}
"""What ends options; options of curl, of a benchmark, of Mininet's mn, of Chromium, of podman."""

OLD = {"--experiments", "--configurations"}
"""Options of YAML campaigns, which the page beside them names."""

SHELL = [
    block
    for page in PAGES
    for block in blocks(page)
    if block.language == "sh" and block.mark != IN_ORDER and "--plugin " not in block.code
]
"""Blocks with a plugin of their page are left out: they are run where it is."""


@pytest.mark.parametrize("block", SHELL, ids=str)
def test_the_commands_of_a_block_exist(block: Block) -> None:
    lines = list(commands(block.code))
    assert lines
    for command in lines:
        check(command)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_the_commands_in_a_page_s_text_exist(page: Path) -> None:
    for words in map(str.split, code_spans(page)):
        own = words[1:] if is_program(words) else words
        if not is_name(own) and (is_program(words) or words[0] in COMMANDS):
            check([PROGRAM, *own])


@pytest.mark.parametrize("page", [page for page in PAGES if page.stem != "CHANGELOG"], ids=name)
def test_the_options_in_a_page_s_text_exist(page: Path) -> None:
    named = {re.split("[ =]", span)[0] for span in code_spans(page) if span.startswith("--")}
    known = set().union(*map(options, (parser(), page_load.parser(), page_server.parser())))
    gone = OLD if page.stem == "campaigns" else set()
    assert named - known - OTHERS - gone == set()


def test_the_templates_of_the_pages_are_rendered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = [command[1:] for block in SHELL for command in commands(block.code)]
    templates = [arguments for arguments in lines if arguments[:1] == ["template"]]
    assert templates
    assert [main(arguments) for arguments in templates] == [0] * len(templates)


def commands(code: str) -> Iterator[list[str]]:
    """The words of each command, without sudo, comments and what a here-document holds."""
    code = HERE_DOCUMENT.sub("\n", code).replace("\\\n", " ")
    for line in code.splitlines():
        words = shlex.shlex(line, posix=True, punctuation_chars="&|<>;")
        words.whitespace_split = True
        command: list[str] = []
        for word in [*words, ";"]:
            if word not in PUNCTUATION:
                command.append(word)
            elif command:
                yield command[1:] if command[0] in PREFIXES else command
                command = []


def is_program(words: list[str]) -> bool:
    return Path(words[0]).name == PROGRAM


def check(words: list[str]) -> None:
    """Fail when a command names an option, a target, a module or a file that does not exist."""
    words = words[1:] if words[0] in PREFIXES else words
    if is_program(words):
        check_own(words[1:])
    elif words[0] == "make":
        check_make(words[1:])
    elif words[0].startswith("scripts/"):
        check(words[1:])
    elif words[1:2] == ["-m"]:
        assert importlib.util.find_spec(words[2]), words
    for word in words:
        for path in word.split(","):
            if path.split("/")[0] in ("scripts", "topologies"):
                assert (REPOSITORY / path).exists(), path


def check_own(arguments: list[str]) -> None:
    """A command with its options, and the values of the one that has most."""
    if arguments[-1] == "--help":
        assert is_name(arguments[:-1]), arguments
        return
    parsed = parser().parse_args(arguments)
    known = options(parser())
    own = itertools.takewhile(lambda word: word != "--", arguments)
    assert [word for word in own if word.startswith("--") and word not in known] == []
    if parsed.command == "compare":
        for clock in [parsed.clock] if parsed.clock else get_args(Clock):
            parsed.clock = clock
            with contextlib.suppress(NoTraceError):  # of the reader's
                assert rows(parsed, base_scenario(parsed))


def check_make(arguments: list[str]) -> None:
    """A target, and the options that it passes on."""
    target, *variables = arguments
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    assert target in TARGET.findall(makefile), target
    for variable in variables:
        if target == "compare" and variable.startswith("ARGS="):
            check_own([target, *shlex.split(variable.removeprefix("ARGS="))])


def is_name(arguments: list[str]) -> bool:
    """Whether the words are those of a command, e.g. `campaign run`, without its arguments."""
    commands = parser()
    for word in arguments:
        choices = subcommands(commands)
        if word not in choices:
            return False
        commands = choices[word]
    return True


def options(parser: argparse.ArgumentParser) -> set[str]:
    own = {option for action in parser._actions for option in action.option_strings}
    return own.union(*map(options, subcommands(parser).values()))


def subcommands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}
