"""What the programs in ``workflow/scripts`` share: one sentence for an expected error, and the configuration."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

from tachograph.errors import TachographError
from tachograph.files import canonical_json, parse_json
from tachograph.models import Configuration
from tachograph.study.loading import CONFIGURATION_FILE, load_configuration, merged_configuration

CONFIGURATION_VARIABLE = "TACHOGRAPH_CONFIGURATION"  # the Snakefile's merged configuration, as JSON
FORCED_VARIABLE = "TACHOGRAPH_FORCED"  # what -f, -F and -R name, as a JSON list


def tell_jobs(settings: Configuration, forced: list[str]) -> None:
    """Put into the environment what the jobs of this Snakemake need to know, and its interpreter first on PATH.

    Jobs say ``python``: that of their conda environment where one is used, else the one that runs Snakemake.
    """
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    os.environ[CONFIGURATION_VARIABLE] = settings.model_dump_json()
    os.environ[FORCED_VARIABLE] = canonical_json(forced)


def forced_targets() -> list[str]:
    """Files and rules that the user asked to be made again (``-f``, ``-R``); ``*`` is everything (``-F``)."""
    named: list[str] = parse_json(os.environ.get(FORCED_VARIABLE, "[]"))
    return named


def configuration() -> Configuration:
    """The configuration that Snakemake merged, or config/config.yaml where a program is started by hand."""
    given = os.environ.get(CONFIGURATION_VARIABLE)
    if given:
        return load_configuration(parse_json(given), CONFIGURATION_VARIABLE)
    if not CONFIGURATION_FILE.exists():
        raise TachographError(
            f"{CONFIGURATION_FILE}: the file is not there; this is to be started in the folder of the Snakefile"
        )
    return merged_configuration([CONFIGURATION_FILE], {})


def run_program(main: Callable[[], None]) -> None:
    """Call ``main``; a :class:`TachographError` becomes one line on standard error and its exit code.

    So does what the operating system refuses, such as a byte more on a full disk.
    """
    try:
        main()
    except TachographError as error:
        print(f"tachograph: error: {error}", file=sys.stderr, flush=True)
        sys.exit(error.exit_code)
    except OSError as error:
        place = error.filename or "a file"
        print(f"tachograph: error: {place}: {error.strerror or error}", file=sys.stderr, flush=True)
        sys.exit(2)
