"""Before any run is timed: may the machine be a reference, does the reference repeat, do the arms compute the same, are the loops what they claim.

`preflight.json` is the gate that all runs of a study wait for, so that they become ready together.
"""


rule parity:
    input:
        plan=plan_file("parity"),
        ready=waits_for("parity", "registered", "machine.json"),
    output:
        result="results/{study}/parity.json",
        run="results/{study}/parity.run.json",
    log:
        "results/{study}/logs/parity.log",
    priority: priority("parity")
    retries: 0
    conda:
        ENVIRONMENT
    threads: threads_of
    resources:
        gpu=1,
        host=100,
    shell:
        "python workflow/scripts/run.py --plan {input.plan:q} --rule parity"
        " --threads {threads} --gpu {resources.gpu} --log {log:q}"


rule smoke:
    input:
        plan=plan_file("preflight"),
        ready=waits_for("preflight", "registered", "machine.json"),
    output:
        history="results/{study}/preflight/{arm}/seed{seed}/history.jsonl",
        run="results/{study}/preflight/{arm}/seed{seed}/run.json",
    log:
        "results/{study}/logs/smoke-{arm}-seed{seed}.log",
    priority: priority("preflight")
    retries: 0
    conda:
        ENVIRONMENT
    threads: threads_of
    resources:
        gpu=1,
        host=100,
    shell:
        "python workflow/scripts/run.py --plan {input.plan:q} --rule smoke"
        " --threads {threads} --gpu {resources.gpu} --log {log:q}"


rule preflight:
    input:
        machine="results/{study}/machine.json",
        registered=registered,
        plans=lambda wildcards: STUDIES[wildcards.study].plan_files(),
        checks=lambda wildcards: STUDIES[wildcards.study].files("cell", "parity", "preflight"),
    output:
        "results/{study}/preflight.json",
    log:
        "results/{study}/logs/preflight.log",
    localrule: True
    conda:
        ENVIRONMENT
    resources:
        host=1,
    shell:
        "python workflow/scripts/preflight.py --study {wildcards.study:q} --out {output:q} 2>&1 | tee {log:q}"
