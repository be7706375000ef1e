"""What all rules share: the opened studies, their wildcards, caps, and input functions."""

import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.logging import logger

from tachograph.study import opening
from tachograph.analysis.names import figure_names, table_names
from tachograph.errors import TachographError
from tachograph.study.fingerprint import code_fingerprint
from tachograph.models.trainer import Code

ROOT = Path.cwd()
ENVIRONMENT = str(Path(workflow.basedir) / "envs" / "tachograph.yaml")

try:
    CONFIGURATION, STUDIES = opening.open_studies(SETTINGS, ROOT, sys.argv[1:])
    opening.refuse_unplanned(STUDIES, sys.argv[1:])
    if opening.is_dry_run(sys.argv[1:]):
        from tachograph.study.session import obstacle

        for one in STUDIES.values():
            if why := obstacle(one, CONFIGURATION):
                logger.warning(f"This machine could not execute study {one.study.name} now: {why}")
except TachographError as error:
    raise WorkflowError(str(error))

# The caps hold also for a bare `snakemake -c4`, and where --resources on the command line replaces the profile's.
workflow.global_resources.setdefault("gpu", 1)
workflow.global_resources.setdefault("host", 100)


wildcard_constraints:
    study="|".join(STUDIES),
    arm=r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}",
    seed=r"[0-9]+",
    key=r"[a-z]+-[A-Za-z0-9][A-Za-z0-9_-]{0,63}-seed[0-9]+",
    identity=r"[0-9a-f]{16}",


def forced_targets():
    """What the user asked to be made again: files (-f), rules or files (-R), everything (-F)."""
    settings = workflow.dag_settings
    if settings is None:
        return []
    if settings.forceall:
        return ["*"]
    named = [str(name) for name in settings.forcerun]
    if settings.forcetargets:
        named += [str(name) for name in settings.targets]
    return named


def planned(role, wildcards):
    """The planned run that a job makes; an arm or seed that is not planned is an error with a sentence."""
    arm = getattr(wildcards, "arm", None)
    one = STUDIES[wildcards.study]
    if arm is None:  # baseline, burn-in, A/A and parity have one arm, which is not part of their path
        arm = next((run.arm for run in one.planned if run.role == role), "")
    seed = getattr(wildcards, "seed", None)
    try:
        return one.find(role, arm, seed)
    except TachographError as error:
        raise WorkflowError(str(error))


def plan_file(role):
    """Input function: the plan of a run, in a file named by all that determines the run."""
    return lambda wildcards: f"results/{wildcards.study}/{planned(role, wildcards).plan_file}"


def waits_for(role, *files):
    """Input function: files that a run needs to be there. Their times matter to a run that is still to be made only.

    While an input is being renewed Snakemake (9.27.1) passes over a job that has it as ancient(), even where the
    output of the job is missing or forced; so it is ancient() for nothing but a run that is there.
    """

    def inputs(wildcards):
        one = STUDIES[wildcards.study]
        run = planned(role, wildcards)
        there = all((one.folder.path / name).exists() for name in (run.target, run.run_file))
        paths = [one.registered_file if name == "registered" else str(one.folder.path / name) for name in files]
        return [ancient(path) for path in paths] if there and not forced_targets() else paths

    return inputs


def priority(role):
    """Priority function: studies in configured order, runs in registered order."""
    return lambda wildcards: STUDIES[wildcards.study].priority(planned(role, wildcards))


def threads_of(wildcards):
    """The registered number of threads of a study's timed runs."""
    return STUDIES[wildcards.study].planned[0].threads


def registered(wildcards):
    """Input function: the file that says that this very version of the study is registered."""
    return STUDIES[wildcards.study].registered_file


def table_files(study):
    """The tables that the study's registration calls for."""
    one = STUDIES[study]
    return [f"results/{study}/tables/{name}.csv" for name in table_names(one.study, one.trainer)]


def figure_files(study, kind):
    """The figures that the study's registration calls for, as files of one kind."""
    one = STUDIES[study]
    return [f"results/{study}/figures/{name}.{kind}" for name in figure_names(one.study, one.trainer)]


def pages(study):
    """Tables, figures and facts of a study: listed in rule all, so that one that was removed is made again."""
    facts = [f"results/{study}/{name}" for name in ("machine.json", "preflight.json")]
    return [*facts, *table_files(study), *figure_files(study, "svg"), *figure_files(study, "png")]


def all_plans(wildcards):
    """Input function: the plans of all runs of a study."""
    return STUDIES[wildcards.study].plan_files()


def verdicts():
    """The verdicts of the machine studies: listed in rule all, so that a machine that is not right is an error."""
    return [f"results/{name}/verdict.txt" for name, one in STUDIES.items() if one.study.schema_ == "machine/1"]


OWN_CODE = code_fingerprint(Code(modules=["tachograph"]), ROOT, "Snakefile")


def own_code(wildcards):
    """Params function: a change of our own code renews what was computed with it, and trains nothing."""
    return OWN_CODE


def begin_session():
    """Before the first job: caps, devices, lock folders, and nobody else at work on these studies."""
    from tachograph.study import session

    outputs = {str(path) for job in workflow.dag.needrun_jobs() for path in job.output}
    overwritten = workflow.resource_settings.overwrite_resources
    try:
        session.begin(
            STUDIES.values(), CONFIGURATION, workflow.global_resources, forced_targets(), outputs, overwritten
        )
    except TachographError as error:
        raise WorkflowError(str(error))


def end_session():
    """After the last job, also after a failure: bring status.md up to date."""
    from tachograph.study import session

    session.end(STUDIES.values())
