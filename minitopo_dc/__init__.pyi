"""The names of the API, each with the module that has it."""

from . import campaign as campaign
from . import plots as plots
from . import plugins as plugins
from . import report as report
from . import results as results
from . import statistics as statistics
from .advice import advise as advise
from .campaign.campaign import Campaign as Campaign
from .campaign.store import load as load
from .cli.explore import explore as explore
from .errors import InputError as InputError
from .errors import MinitopoDcError as MinitopoDcError
from .media.abr import abr_algorithm as abr_algorithm
from .pdcp import split_policy as split_policy
from .results.measures.named import run_measures as run_measures
from .runners.base import runner as runner
from .scenario import Leg as Leg
from .scenario import Pdcp as Pdcp
from .scenario import Scenario as Scenario
from .scenario import lte as lte
from .scenario import nr as nr
from .ways import Comparison as Comparison
from .ways import Run as Run
from .ways import compare as compare
from .ways import run as run
from .workloads import Command as Command
from .workloads import Download as Download
from .workloads import Ping as Ping
from .workloads import Realtime as Realtime
from .workloads import RequestResponse as RequestResponse
from .workloads import Video as Video
from .workloads import workload as workload

__version__: str
__all__: list[str]
