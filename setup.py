"""What pyproject.toml cannot say: the README as text, the native core, a build elsewhere."""

import re
import shutil
import sys
import tempfile
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import CompileError

sys.path.insert(0, str(Path(__file__).parent))  # a build backend does not look here
from minitopo_dc.extension.make import BuildError
from minitopo_dc.native.library import EXTENSION, FAST, compile_core

# A package index would show the text only: neither pictures nor pages are part of a package.
README = re.sub(r"!\[[^]]*\]\(docs/[^)]*\)\n+", "", open("README.md", encoding="utf-8").read())
README = re.sub(r"\[([^]]+)\]\((?!https:)[^)]*\)", r"\1", README)


class BuildNative(build_ext):
    """Compiles the native core into the package; an editable one has it in the checkout's cache."""

    def run(self) -> None:
        """Compile unless the installation is editable."""
        if not self.editable_mode:
            super().run()

    def build_extension(self, ext: Extension) -> None:
        """Compile the core; where that fails, an optional extension is a warning's line."""
        target = Path(self.get_ext_fullpath(ext.name))
        with tempfile.TemporaryDirectory() as scratch:
            try:
                made = compile_core(Path(scratch), FAST)
            except BuildError as error:
                raise CompileError(str(error)) from None
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(made, target)


# In a folder that is named by its sources, where `EXTENSION.find` looks.
digest = EXTENSION.file_name().partition("/")[0]
NATIVE = f"minitopo_dc.native.{digest}.{EXTENSION.module}"

# Built anew each time, outside the checkout: from a `build` folder of before, a wheel would also
# get modules that have gone since; and the checkout may be another user's.
with tempfile.TemporaryDirectory(prefix="minitopo-dc-build-") as elsewhere:
    setup(
        long_description=README,
        long_description_content_type="text/markdown",
        ext_modules=[Extension(NATIVE, sources=[], optional=True)],
        cmdclass={"build_ext": BuildNative},
        options={"build": {"build_base": elsewhere}, "egg_info": {"egg_base": elsewhere}},
    )
