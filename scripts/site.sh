#!/usr/bin/env bash
# The documentation site in build/site/html; a warning is an error. Links between pages are those of the repository:
# whatever a page may link to stands beside it as a symbolic link.
set -euo pipefail
cd "$(dirname "$0")/.."
readonly PAGES=build/site/pages
rm -rf build/site
mkdir -p "$PAGES"
for each in *.md docs traces studies examples templates notebooks LICENSE CITATION.cff; do
    ln -s "$PWD/$each" "$PAGES/$each"
done
.venv/bin/python -c "import material, mkdocs_jupyter" 2> /dev/null ||
    .venv/bin/pip install --quiet --constraint constraints.txt mkdocs-material mkdocs-jupyter
NO_MKDOCS_2_WARNING=1 .venv/bin/mkdocs build --strict
# A notebook's links to pages are not among those that mkdocs turns.
sed -i -E 's|(href="\.\./[^":]+)\.md|\1.html|g' build/site/html/notebooks/*.html
