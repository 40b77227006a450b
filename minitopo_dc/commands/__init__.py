"""The subcommands of `minitopo-dc`, one module each: its options, and what it does."""
