"""A program of a runner, whose only argument is a JSON file of settings."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import NoReturn, Self

from pydantic import BaseModel, ConfigDict, ValidationError, field_validator

from minitopo_dc.installation import module_command
from minitopo_dc.registry import load_plugins


class ProgramSettings(BaseModel):
    """Settings of a program: the runner writes them, the program reads them.

    It is no `Settings`, whose package takes longer to import than small clients take to start.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, defer_build=True)

    plugins: tuple[str, ...] = ()
    """Modules and files that the fields behind it may need."""

    @field_validator("plugins")
    @classmethod
    def _load(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(load_plugins(names))

    def command(self, module: str, file: Path) -> list[str]:
        """Write the file, and return the command line that runs a module of the package with it."""
        file.write_text(f"{self.model_dump_json(indent=1)}\n", encoding="utf-8")
        return [*module_command(module), str(file)]

    @classmethod
    def given(cls) -> Self:
        """Return this program's settings; a wrong file ends it with 2 and a line per error."""
        if len(sys.argv) != 2:
            _refuse("give one argument: the program's settings, a JSON file")
        file = sys.argv[1]
        try:
            return cls.model_validate(json.loads(Path(file).read_text(encoding="utf-8")))
        except OSError as error:
            _refuse(f"{file}: {error.strerror}")
        except json.JSONDecodeError as error:
            _refuse(f"{file}:{error.lineno}: no JSON: {error.msg}")
        except UnicodeDecodeError:
            _refuse(f"{file}: not UTF-8 text")
        except ValidationError as error:
            from minitopo_dc.fields.base import describe  # noqa: PLC0415 (its weight, above)

            _refuse(describe(error, file, cls))


def _refuse(words: str) -> NoReturn:
    print(words, file=sys.stderr)  # noqa: T201
    sys.exit(2)
