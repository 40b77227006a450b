"""Parts of a run that both clocks share: settings of the routers, checks, results."""
