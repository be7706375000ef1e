"""The configuration: config/config.yaml, each --configfile, --config. Read strictly, before Snakemake reads the file.

Snakemake's own reader takes the last of two equal keys, reads 12:30:00 as a number, and does not come back from a few
lines of aliases.
"""

from pathlib import Path

from snakemake.exceptions import WorkflowError

from tachograph.errors import TachographError
from tachograph.study.loading import CONFIGURATION_FILE, merged_configuration

GIVEN = workflow.config_settings

try:
    own = [CONFIGURATION_FILE] if CONFIGURATION_FILE.exists() and not GIVEN.replace_workflow_config else []
    SETTINGS = merged_configuration([*own, *map(Path, GIVEN.configfiles)], GIVEN.config)
except TachographError as error:
    raise WorkflowError(str(error))
