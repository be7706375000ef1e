"""Freezing a study: its registration, one plan file per run, and the facts of the machine.

A plan file is named by all that determines its run (command, environment, seed, threads, code of the trainer),
so a change makes another file, which is missing, and nothing else does.
"""


rule register:
    input:
        study=ancient("config/studies/{study}.toml"),
    output:
        "results/{study}/plan/study.{identity}.json",
    log:
        "results/{study}/logs/register.{identity}.log",
    localrule: True
    conda:
        ENVIRONMENT
    resources:
        host=1,
    shell:
        "python workflow/scripts/register.py --study {wildcards.study:q} --out {output:q} 2>&1 | tee {log:q}"


rule plan_run:
    input:
        study=ancient("config/studies/{study}.toml"),
    output:
        "results/{study}/plan/{key}.{identity}.json",
    log:
        "results/{study}/logs/plan-{key}.{identity}.log",
    localrule: True
    conda:
        ENVIRONMENT
    resources:
        host=1,
    shell:
        "python workflow/scripts/plan_run.py --study {wildcards.study:q} --run {wildcards.key:q} --out {output:q} 2>&1 | tee {log:q}"


rule machine:
    input:
        registered=ancient(registered),
    output:
        "results/{study}/machine.json",
    log:
        "results/{study}/logs/machine.log",
    localrule: True
    conda:
        ENVIRONMENT
    resources:
        host=1,
    shell:
        "python workflow/scripts/machine.py --study {wildcards.study:q} --out {output:q} 2>&1 | tee {log:q}"
