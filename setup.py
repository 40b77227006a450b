"""What pyproject.toml cannot say: the README as text, and a build outside the checkout."""

import re
import tempfile

from setuptools import setup

# A package index would show the text only: docs/images is not part of a package.
README = re.sub(r"!\[[^]]*\]\(docs/[^)]*\)\n+", "", open("README.md", encoding="utf-8").read())

# Built anew each time, outside the checkout: from a `build` folder of before, a wheel would also
# get modules that have gone since; and the checkout may be another user's.
with tempfile.TemporaryDirectory(prefix="minitopo-dc-build-") as elsewhere:
    setup(
        long_description=README,
        long_description_content_type="text/markdown",
        options={"build": {"build_base": elsewhere}, "egg_info": {"egg_base": elsewhere}},
    )
