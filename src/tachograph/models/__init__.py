"""Typed study, trainer and configuration files.

Every model refuses unknown keys. The JSON schemas in ``workflow/schemas`` are generated from these classes
(``python workflow/scripts/write_schemas.py``) and a test keeps both in step.
"""

from tachograph.models.candidate import Candidate
from tachograph.models.configuration import Configuration
from tachograph.models.study import Arm, DecisionRule, Metric, Study
from tachograph.models.trainer import Trainer

__all__ = ["Arm", "Candidate", "Configuration", "DecisionRule", "Metric", "Study", "Trainer"]
