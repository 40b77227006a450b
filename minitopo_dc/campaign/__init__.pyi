"""The names of `minitopo_dc.campaign`, each with the module that has it."""

from .campaign import Campaign as Campaign
from .campaign import Retries as Retries
from .designs import grid as grid
from .designs import latin_hypercube as latin_hypercube
from .designs import sobol as sobol
from .designs import spread as spread
from .store import load as load
