"""Installable package of minitopo-dc (the environment is made by ``make setup``)."""

from setuptools import find_packages, setup

RUNTIME = [
    "aioquic>=1.3",
    "cryptography>=42",
    "distributed>=2024.8",
    "hypercorn>=0.17",
    "Jinja2>=3.1",
    "matplotlib>=3.8",
    "numpy>=1.26",
    "pandas>=2.2",
    "pyarrow>=15",
    "pydantic>=2.7",
    "PyYAML>=6.0",
    "rich>=13.7",
    "scapy>=2.6",
    # Mininet 2.3.0 imports distutils, which Python 3.12 no longer has and setuptools brings.
    "setuptools>=68; python_version >= '3.12'",
]
# The real clock, beside Debian's mininet; NetfilterQueue is built with the system's headers.
REAL_CLOCK = [
    "NetfilterQueue>=1.1",
    "pyroute2>=0.7.12",
]
DEVELOPMENT = [
    "hypothesis>=6.100",
    "import-linter>=2.0",
    "ipykernel>=6.29",
    "mypy>=1.10",
    "nbclient>=0.10",
    "nbformat>=5.10",
    "pandas-stubs",
    "pre-commit>=3.7",
    "pytest>=8.2",
    "ruff>=0.6",
    "types-PyYAML",
]

setup(
    name="minitopo-dc",
    version="0.1.0",
    description="Link-layer Dual Connectivity against transport multipath, on one machine",
    long_description=open("README.md", encoding="utf-8").read(),
    long_description_content_type="text/markdown",
    python_requires=">=3.11",
    packages=find_packages(include=["minitopo_dc*", "runners*", "topologies*"]),
    package_data={"minitopo_dc": ["py.typed", "campaign/report.html"]},
    install_requires=RUNTIME,
    extras_require={"real": REAL_CLOCK, "dev": DEVELOPMENT},
    entry_points={"console_scripts": ["minitopo-dc=minitopo_dc.cli:main"]},
)
