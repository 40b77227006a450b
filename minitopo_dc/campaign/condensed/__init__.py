"""The result of a campaign without its runs' files: what a page of results is made from."""
