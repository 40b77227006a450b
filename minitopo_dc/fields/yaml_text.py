"""The reader and the writer of all YAML here: safe types, limits of size and depth, each key once.

Beyond PyYAML's safe loader these are errors, each with its line: a key that stands twice in a
mapping (YAML 1.2, section 3.2.1.3; PyYAML takes the last one), a value that is not of the type that
its form or its tag names (`2001-99-99`, `!!int abc`), a number that YAML 1.1 reads as another than
people do (`010` is 8 there, `1:30` is 90), half a character (of a surrogate's escape), nesting
deeper than `MAX_DEPTH`, and aliases that stand for more than `MAX_NODES` values.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping
from functools import lru_cache
from itertools import chain
from typing import Any

import yaml
from yaml.composer import Composer
from yaml.constructor import SafeConstructor
from yaml.cyaml import CParser  # type: ignore[attr-defined]
from yaml.resolver import Resolver

from minitopo_dc.numbers import is_plain

MAX_CHARACTERS = 500_000
"""The most characters of a file: far above any scenario or campaign; PyYAML takes up to 10 s for so
many."""
MAX_DEPTH = 50
"""The deepest nesting of mappings and lists; a scenario has 6."""
MAX_NODES = 1_000_000
"""The most values of a document with its aliases written out."""


ENTRIES = 1_000
"""The number of entries whose text is kept in memory: those of many scenarios, some MB."""


class _Loader(Composer, CParser, SafeConstructor, Resolver):
    """PyYAML's safe loader on libyaml's events, which takes a quarter of the time, with limits."""

    def __init__(self, text: str) -> None:
        CParser.__init__(self, text)
        for part in (Composer, SafeConstructor, Resolver):
            part.__init__(self)
        self._depth = 0
        self._has_anchors = "&" in text
        self._sizes: dict[int, int] = {}

    def compose_node(self, parent: Any, index: Any) -> Any:
        """Count the depth, and the nodes with all aliases written out."""
        if self._depth > MAX_DEPTH:
            mark = self.peek_event().start_mark  # type: ignore[union-attr]
            _fail(f"nested too deeply; allowed: {MAX_DEPTH} levels", mark)
        if self.check_event(yaml.AliasEvent):
            return super().compose_node(parent, index)
        self._depth += 1
        node = super().compose_node(parent, index)
        self._depth -= 1
        if self._has_anchors:  # else the text is as long as what it stands for
            self._sizes[id(node)] = 1 + self._size_within(node)
        return node

    def _size_within(self, node: Any) -> int:
        children = node.value if isinstance(node.value, list) else []
        size = 0
        # Items of a list, or keys and values of a mapping.
        pairs = (child if isinstance(child, tuple) else (child,) for child in children)
        for part in chain.from_iterable(pairs):
            if id(part) not in self._sizes:
                _fail("an alias stands for what it is in itself", node.start_mark)
            size += self._sizes[id(part)]
        if size > MAX_NODES:
            _fail(f"aliases for too much; allowed: {MAX_NODES:,} values", node.start_mark)
        return size

    def construct_object(self, node: Any, deep: bool = False) -> Any:
        """Return a value; raise an error with its line if it is not of the type of its tag."""
        kind, text = str(node.tag).rpartition(":")[2], str(node.value)
        is_number = is_plain(text) or text.lstrip("+-").lower() in (".inf", ".nan")
        if kind in ("int", "float") and not is_number:
            _fail(f"{text[:60]!r} is no number in digits, such as 10", node.start_mark)
        try:
            return super().construct_object(node, deep=deep)
        except yaml.YAMLError:
            raise
        except (ValueError, TypeError, AttributeError, LookupError, ArithmeticError):
            _fail(f"{text[:60]!r} is no {kind}", node.start_mark)

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Hashable, Any]:
        """Return a mapping; raise an error with its line if a key stands twice."""
        seen = set()
        for key, _ in node.value if isinstance(node, yaml.MappingNode) else ():
            if isinstance(key, yaml.ScalarNode):
                if (key.tag, key.value) in seen:
                    _fail(f"key {key.value[:60]!r} stands twice", key.start_mark)
                seen.add((key.tag, key.value))
        mapping: dict[Hashable, Any] = super().construct_mapping(node, deep=deep)
        return mapping


def parse_yaml(text: str) -> Any:
    """Return the value that a YAML text holds.

    Raises:
        yaml.YAMLError: it is no YAML, or more of it than is allowed; with `problem` and mostly
            `problem_mark`.
    """
    if len(text) > MAX_CHARACTERS:
        _fail(f"too long; allowed: {MAX_CHARACTERS:,} characters", None)
    try:
        loader = _Loader(text)
        try:
            return loader.get_single_data()
        finally:
            loader.dispose()
    except UnicodeEncodeError:  # of half a character, which is no UTF-8
        _fail("half a character", None)


def dump_yaml(values: Mapping[str, Any]) -> str:
    """Return a mapping of JSON's types as YAML, in the order of its keys, beyond ASCII as it is.

    The runs of a campaign have most entries in common: the text of each is made once.
    """
    return "".join(_entry(json.dumps({key: value})) for key, value in values.items()) or "{}\n"


@lru_cache(ENTRIES)
def _entry(written: str) -> str:
    """Return one entry of a mapping, given as JSON, as YAML."""
    values = json.loads(written)
    text: str = yaml.dump(values, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True)
    return text


def _fail(problem: str, mark: Any) -> None:
    raise yaml.constructor.ConstructorError(None, None, problem, mark)


def _no_plain_value(_: _Loader, node: yaml.Node) -> None:
    kind = node.tag.rpartition(":")[2]
    _fail(f"{kind}: no value that a file here can hold", node.start_mark)


for _kind in ("binary", "set", "omap", "pairs"):
    _Loader.add_constructor(f"tag:yaml.org,2002:{_kind}", _no_plain_value)  # type: ignore[type-var]
