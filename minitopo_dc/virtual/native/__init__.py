"""The virtual clock on the native core: its elements and hosts behind the Python interfaces."""
