"""Typed study, trainer and configuration files.

Every model refuses unknown keys. The JSON schemas in ``workflow/schemas`` are generated from these classes
(``python workflow/scripts/write_schemas.py``) and a test keeps both in step.
"""

from tachograph.models.candidate import Candidate
from tachograph.models.checker import Checker
from tachograph.models.configuration import Configuration
from tachograph.models.machine import MachineStudy
from tachograph.models.study import Arm, DecisionRule, Metric, Study
from tachograph.models.trainer import Trainer

AnyStudy = Study | MachineStudy
Program = Trainer | Checker  # what a study starts: a trainer, or the checker of a machine

__all__ = [
    "AnyStudy", "Arm", "Candidate", "Checker", "Configuration", "DecisionRule", "MachineStudy", "Metric", "Program",
    "Study", "Trainer",
]  # fmt: skip
