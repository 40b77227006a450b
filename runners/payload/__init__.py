"""Contents of transfers: deterministic bytes, requests, certificates."""
