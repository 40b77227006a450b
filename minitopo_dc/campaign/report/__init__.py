"""The report of a campaign: evaluation, claims, figures, answers."""
