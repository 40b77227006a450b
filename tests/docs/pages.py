"""The project's Markdown pages: their links, headings and fenced blocks."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

from tests import REPOSITORY

README = REPOSITORY / "README.md"
DOCS = REPOSITORY / "docs"
PAGES = sorted(
    {
        *(*REPOSITORY.glob("*.md"), *DOCS.rglob("*.md"), *REPOSITORY.glob("[!.]*/README.md")),
        *REPOSITORY.glob("studies/*/measured.md"),
    }
)

DATA = ("examples", "studies", "topologies", "traces")
"""What a user finds where he is: in a checkout."""
RUN_WITH, RUN_AS_ROOT, NOT_RUN = "run with: ", "run as: root", "not run: "
IN_ORDER = "run in the page's order"
"""The mark of a block that a test of the page's own runs, after the blocks above it."""

_COMMENT = re.compile(r"<!--\s*(.*?)\s*-->\s*", re.DOTALL)
_NAMED = re.compile(r"(?:Save\s+this\s+one\s+as|This\s+is)\s+`([\w-]+\.\w+)`[^`]*:\Z")
_NOT_IN_ANCHORS = re.compile(r"[^\w\- ]")


@dataclass(frozen=True)
class Block:
    """A fenced block."""

    page: Path
    line: int
    language: str
    code: str
    mark: str | None
    """The text of the HTML comment right above it, which a reader of the page does not see."""
    file: str | None = None
    """The name of the file that the text above tells the reader to make of it."""

    def __str__(self) -> str:
        return f"{name(self.page)}:{self.line}"


def name(page: Path) -> str:
    return str(page.relative_to(REPOSITORY))


@cache
def tokens(page: Path) -> list[Token]:
    """The page as GitHub's Markdown, of which tables are all that is needed here."""
    return MarkdownIt("commonmark").enable("table").parse(page.read_text(encoding="utf-8"))


def blocks(page: Path) -> Iterator[Block]:
    mark = file = None
    for token in tokens(page):
        if token.type == "fence":
            yield Block(page, _line(token), token.info.strip(), token.content, mark, file)
            file = None
        elif token.type == "inline":
            named = _NAMED.search(token.content)
            file = None if named is None else named.group(1)
        mark = comment(token)


def comment(token: Token) -> str | None:
    """The text of an HTML comment; None of anything else."""
    match = _COMMENT.fullmatch(token.content) if token.type == "html_block" else None
    return None if match is None else match.group(1)


def links(page: Path) -> Iterator[str]:
    for token in _inline(page):
        target = token.attrGet("href" if token.type == "link_open" else "src")
        if target is not None:
            yield str(target)


def code_spans(page: Path) -> Iterator[str]:
    for token in _inline(page):
        if token.type == "code_inline":
            yield token.content


@cache
def anchors(page: Path) -> set[str]:
    """What GitHub makes of a page's headings."""
    seen: Counter[str] = Counter()
    made = set()
    for heading, text in pairwise(tokens(page)):
        if heading.type == "heading_open":
            words = "".join(child.content for child in text.children or ())
            anchor = _NOT_IN_ANCHORS.sub("", words.lower()).replace(" ", "-")
            made.add(f"{anchor}-{seen[anchor]}" if seen[anchor] else anchor)
            seen[anchor] += 1
    return made


def _inline(page: Path) -> Iterator[Token]:
    for token in tokens(page):
        yield from token.children or ()


def _line(token: Token) -> int:
    return 0 if token.map is None else token.map[0] + 1


def save_files(page: Path, home: Path) -> None:
    for block in blocks(page):
        if block.file is not None:
            (home / block.file).write_text(block.code)


def program(directory: Path, name: str, line: str) -> None:
    """Make a program that a page calls by its name."""
    script = directory / name
    script.write_text(f"#!/bin/sh\n{line}\n")
    script.chmod(0o755)


def user_home(home: Path, options: Mapping[str, str] | None = None) -> None:
    """Make what a user has in a checkout: the command of this checkout, Python, and the data.

    Args:
        home: where the user is.
        options: by command, what is added to it so that it takes less time, e.g. smaller sizes.
    """
    for folder in DATA:
        (home / folder).symlink_to(REPOSITORY / folder)
    cases = "".join(
        f"'{command}'*) set -- \"$@\" {added};; " for command, added in (options or {}).items()
    )
    for programs in (home / "bin", home / ".venv" / "bin"):
        programs.mkdir(parents=True)
        program(programs, "sudo", 'exec "$@"')
        program(programs, "python", f'exec "{sys.executable}" "$@"')
        own = f'exec "{sys.executable}" -m minitopo_dc.cli "$@"'
        program(programs, "minitopo-dc", f'case "$*" in {cases} esac\n{own}')


def run_script(
    script: str, home: Path, timeout_s: float, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run a page's commands where the user is, with the programs of `user_home`."""
    path = f"{home / 'bin'}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-ec", script],
        cwd=home,
        env={**os.environ, "PATH": path, "PYTHONPATH": str(REPOSITORY), **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    assert done.returncode == 0, done.stderr + done.stdout
    return done
