"""A web page: its site, and how long headless Chromium takes to load it (`docs/workloads.md`).

`python -m minitopo_dc.page_load.server` on the server's host, `python -m minitopo_dc.page_load`
on the client's.
"""
