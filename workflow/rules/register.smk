"""Freezing a study: its registration, one plan file per run, and the facts of the machine.

A plan file is named by all that determines its run (command, environment, seed, threads, code of the trainer),
so a change makes another file, which is missing, and nothing else does.
"""


rule register:
    input:
        study=ancient("config/studies/{study}.toml"),
    output:
        "results/{study}/plan/study.{identity}.json",
    localrule: True
    conda:
        ENVIRONMENT
    resources:
        host=1,
    shell:
        "{PYTHON:q} {SCRIPTS:q}/register.py --study {wildcards.study:q} --out {output:q}"


rule plan_run:
    input:
        study=ancient("config/studies/{study}.toml"),
    output:
        "results/{study}/plan/{key}.{identity}.json",
    localrule: True
    conda:
        ENVIRONMENT
    resources:
        host=1,
    shell:
        "{PYTHON:q} {SCRIPTS:q}/plan_run.py --study {wildcards.study:q} --run {wildcards.key:q} --out {output:q}"


rule machine:
    input:
        registered=ancient(registered),
    output:
        "results/{study}/machine.json",
    localrule: True
    conda:
        ENVIRONMENT
    resources:
        host=1,
    shell:
        "{PYTHON:q} {SCRIPTS:q}/machine.py --study {wildcards.study:q} --out {output:q}"
