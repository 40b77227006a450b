"""Installable package of minitopo-dc (the environment is made by `make setup`)."""

import re
import tempfile

from setuptools import find_packages, setup

RUNTIME = [
    "aioquic>=1.3",
    "cffi>=1.15",  # also cryptography's; makes and loads picoquic's extension
    "cryptography>=42",
    "distributed>=2024.8",
    "h2>=4.1",
    "hypercorn>=0.17",
    "Jinja2>=3.1",
    "matplotlib>=3.8",
    "numpy>=1.26",
    "pandas>=2.2",
    "pyarrow>=15",
    "pydantic>=2.12",
    "PyYAML>=6.0",
    "rich>=13.7",
    "scapy>=2.6",
    "scikit-learn>=1.5",  # trees and regressions of `studies/`
    "scipy>=1.15",  # the first with `rng` of its designs
    # Mininet 2.3.0 imports distutils, which Python 3.12 no longer has and setuptools brings.
    "setuptools>=68; python_version >= '3.12'",
]
# The real clock, beside Debian's mininet; NetfilterQueue is built with the system's headers.
REAL_CLOCK = [
    "NetfilterQueue>=1.1",
    "pyroute2>=0.7.12",
]
# What runs `notebooks/`, which draw with Matplotlib of the above.
NOTEBOOKS = [
    "ipykernel>=6.29",
    "ipywidgets>=8.1",
    "jupyterlab>=4.2",
    "voila>=0.5.8",
]
DEVELOPMENT = [
    "hypothesis>=6.100",
    "import-linter>=2.0",
    "ipykernel>=6.29",
    "ipywidgets>=8.1",
    "markdown-it-py>=3.0",
    "mypy>=1.10",
    "nbclient>=0.10",
    "nbformat>=5.10",
    "pandas-stubs",
    "playwright>=1.48",  # drives a browser of the system: tests/exploration
    "pre-commit>=3.7",
    "pytest>=8.2",
    "pytest-rerunfailures>=16.0",
    "pytest-xdist>=3.6",
    "ruff>=0.6",
    "scipy-stubs",
    "setuptools>=70.1",  # the first that makes a wheel by itself: tests/project/test_wheel.py
    "types-PyYAML",
    "voila>=0.5.8",
]

KEYWORDS = [
    *("Dual Connectivity", "PDCP", "multipath", "QUIC", "MP-QUIC", "MPTCP"),
    *("LTE", "5G", "WiFi", "Mininet", "network emulation", "network simulation"),
]
CLASSIFIERS = [
    "Development Status :: 4 - Beta",
    "Environment :: Console",
    "Intended Audience :: Science/Research",
    "Intended Audience :: Telecommunications Industry",
    "Operating System :: POSIX :: Linux",
    "Programming Language :: C",
    "Programming Language :: Python :: 3 :: Only",
    "Programming Language :: Python :: 3.11",
    "Programming Language :: Python :: 3.12",
    "Programming Language :: Python :: 3.13",
    "Topic :: Scientific/Engineering",
    "Topic :: System :: Emulators",
    "Topic :: System :: Networking",
    "Typing :: Typed",
]

# A package index would show the text only: docs/images is not part of a package.
README = re.sub(r"!\[[^]]*\]\(docs/[^)]*\)\n+", "", open("README.md", encoding="utf-8").read())
# Read and not imported: what the package imports is not installed yet.
PACKAGE = open("minitopo_dc/__init__.py", encoding="utf-8").read()
(VERSION,) = re.findall(r'^__version__ = "(.+)"$', PACKAGE, re.MULTILINE)

# Built anew each time, outside the checkout: from a `build` folder of before, a wheel would also
# get modules that have gone since; and the checkout may be another user's.
with tempfile.TemporaryDirectory(prefix="minitopo-dc-build-") as elsewhere:
    setup(
        name="minitopo-dc",
        version=VERSION,
        description="Link-layer Dual Connectivity against transport multipath, on one machine",
        long_description=README,
        long_description_content_type="text/markdown",
        author="the minitopo-dc authors",
        license="BSD-3-Clause",  # newer setuptools warn of one among the classifiers
        license_files=["LICENSE"],
        keywords=KEYWORDS,
        classifiers=CLASSIFIERS,
        python_requires=">=3.11",
        # minitopo_dc/runners, /topologies and /data are links to top-level folders, or hold such.
        packages=find_packages(include=["minitopo_dc*"]),
        package_data={
            "minitopo_dc": [
                "py.typed",
                "data/*/*",
                "data/studies/*/*",
                "data/studies/*/reference/*",
                "picoquic/*.[ch]",
                "plots/house.mplstyle",
                "report/*.j2",
                "report/style.css",
                *(f"linux_guest/{folder}/*" for folder in ("agent", "controller", "kernel")),
                "native/*.h",
                "native/*/*.[ch]",
            ]
        },
        install_requires=RUNTIME,
        extras_require={"real": REAL_CLOCK, "notebooks": NOTEBOOKS, "dev": DEVELOPMENT},
        entry_points={"console_scripts": ["minitopo-dc=minitopo_dc.cli:main"]},
        options={"build": {"build_base": elsewhere}, "egg_info": {"egg_base": elsewhere}},
    )
