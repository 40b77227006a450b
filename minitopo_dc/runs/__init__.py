"""The parts of a run that both clocks share: settings of the elements, checks, results."""
