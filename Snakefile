"""Tachograph: executes the pre-registered throughput studies named in config/config.yaml.

One file of rules per phase of a study; what a run does is in workflow/scripts and src/tachograph.
"""

from snakemake.utils import min_version

min_version("9.27")


include: "workflow/rules/configuration.smk"


configfile: "config/config.yaml"


report: "workflow/report/workflow.rst"


include: "workflow/rules/common.smk"
include: "workflow/rules/register.smk"
include: "workflow/rules/cells.smk"
include: "workflow/rules/preflight.smk"
include: "workflow/rules/runs.smk"
include: "workflow/rules/analysis.smk"
include: "workflow/rules/record.smk"


rule all:
    default_target: True
    input:
        [one.folder.record_seal for one in STUDIES.values()],
        [one.files() for one in STUDIES.values()],
        [one.plan_files() for one in STUDIES.values()],
        [one.registered_file for one in STUDIES.values()],
        [pages(name) for name in STUDIES],
        verdicts(),


onstart:
    begin_session()


onsuccess:
    end_session()


onerror:
    end_session()
