"""`python -m minitopo_dc.cli`: the command where its script is not installed."""

from minitopo_dc.cli import main

raise SystemExit(main())
