"""Run an element: `python -m minitopo_dc.element SETTINGS.yaml` in a router host's namespace."""

from __future__ import annotations

import sys
from pathlib import Path

from minitopo_dc.element.process import Element
from minitopo_dc.element.realtime import ElementError
from minitopo_dc.element.rules import RuleError
from minitopo_dc.pdcp import PolicyError
from minitopo_dc.router.settings import ElementSettings
from minitopo_dc.settings import SettingsError
from minitopo_dc.trace import TraceError


def main(arguments: list[str]) -> int:
    """Return 0 after a clean stop, 2 for a mistake in the settings, 1 when it cannot run here."""
    if len(arguments) != 1:
        print("usage: python -m minitopo_dc.element SETTINGS.yaml", file=sys.stderr)  # noqa: T201
        return 2
    try:
        element = Element(ElementSettings.load(Path(arguments[0])))
        try:
            element.run()
        finally:
            element.close()
    except PolicyError as error:
        print(f"{arguments[0]}: {error}", file=sys.stderr)  # noqa: T201
        return 2
    except (SettingsError, TraceError) as error:
        print(error, file=sys.stderr)  # noqa: T201
        return 2
    except (ElementError, RuleError) as error:
        print(error, file=sys.stderr)  # noqa: T201
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
