"""The check of docstrings beyond ruff's rules, part of `make lint`.

The docstring of a public module, class or function has at least five words: with fewer it repeats
the name, or is a riddle to who does not know the code. A property's one begins with "Return", which
ruff's D401 does not ask for.
"""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Iterator
from pathlib import Path

FOLDERS = ("minitopo_dc", "runners", "topologies", "benchmarks", "scripts", "examples", "studies")
MIN_WORDS = 5

Named = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
Documented = ast.Module | Named


def main() -> int:
    """Print each docstring that breaks a rule; return the exit status, 1 if there is one."""
    files = sorted({path.resolve() for folder in FOLDERS for path in Path(folder).rglob("*.py")})
    short = [
        f"{os.path.relpath(path)}:{fault}"
        for path in files
        for fault in faults(path.read_text("utf-8"))
    ]
    print("\n".join(short) or "All docstrings have words enough.")  # noqa: T201
    return bool(short)


def faults(source: str) -> Iterator[str]:
    """Yield line, name and fault of each docstring of a module's source that breaks a rule."""
    for name, node in public(ast.parse(source), "module"):
        text = ast.get_docstring(node) or ""
        line = getattr(node, "lineno", 1)
        if text and len(text.split()) < MIN_WORDS:
            yield f"{line}: {name}: docstring of fewer than {MIN_WORDS} words: {text!r}"
        elif text and is_property(node) and not text.startswith("Return "):
            yield f'{line}: {name}: docstring of a property that does not begin with "Return"'


def public(node: Documented, name: str) -> Iterator[tuple[str, Documented]]:
    """Yield the name and node of what is public in a module or class, itself included."""
    yield name, node
    for inner in node.body if isinstance(node, ast.Module | ast.ClassDef) else ():
        if isinstance(inner, Named) and not inner.name.startswith("_"):
            yield from public(inner, inner.name)


def is_property(node: Documented) -> bool:
    """Return whether a node is a function that is read like an attribute."""
    decorators = getattr(node, "decorator_list", [])
    return any(ast.unparse(name).endswith(("property", "cached_property")) for name in decorators)


if __name__ == "__main__":
    sys.exit(main())
