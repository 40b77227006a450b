"""A web page: its site, and how long headless Chromium takes to load it (`docs/workloads.md`).

`python -m examples.page_load.server` on the server's host, `python -m examples.page_load`
on the client's.
"""
