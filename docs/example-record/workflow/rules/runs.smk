"""The timed runs of a study, each under the lease of its device.

All of them wait for the same gate and for nothing else, so they become ready at the same moment and their
priorities fix the registered order. Candidates come last, so that they disturb no block. No --retries draws a timed job
again: a second draw is somebody's decision, and on record.
"""


rule baseline:
    input:
        plan=plan_file("baseline"),
        ready=waits_for("baseline", "preflight.json"),
    output:
        history="results/{study}/baseline/seed{seed}/history.jsonl",
        run="results/{study}/baseline/seed{seed}/run.json",
    log:
        "results/{study}/logs/baseline-seed{seed}.log",
    priority: priority("baseline")
    retries: 0
    conda:
        ENVIRONMENT
    threads: threads_of
    resources:
        gpu=1,
        host=100,
    shell:
        "python workflow/scripts/run.py --plan {input.plan:q} --rule baseline"
        " --threads {threads} --gpu {resources.gpu} --log {log:q}"


rule burn_in:
    input:
        plan=plan_file("burnin"),
        ready=waits_for("burnin", "preflight.json"),
    output:
        history="results/{study}/burnin/seed{seed}/history.jsonl",
        run="results/{study}/burnin/seed{seed}/run.json",
    log:
        "results/{study}/logs/burnin-seed{seed}.log",
    priority: priority("burnin")
    retries: 0
    conda:
        ENVIRONMENT
    threads: threads_of
    resources:
        gpu=1,
        host=100,
    shell:
        "python workflow/scripts/run.py --plan {input.plan:q} --rule burn_in"
        " --threads {threads} --gpu {resources.gpu} --log {log:q}"


rule train:
    input:
        plan=plan_file("run"),
        ready=waits_for("run", "preflight.json"),
    output:
        history="results/{study}/runs/{arm}/seed{seed}/history.jsonl",
        run="results/{study}/runs/{arm}/seed{seed}/run.json",
    log:
        "results/{study}/logs/run-{arm}-seed{seed}.log",
    priority: priority("run")
    retries: 0
    conda:
        ENVIRONMENT
    threads: threads_of
    resources:
        gpu=1,
        host=100,
    shell:
        "python workflow/scripts/run.py --plan {input.plan:q} --rule train"
        " --threads {threads} --gpu {resources.gpu} --log {log:q}"


rule repeat_reference:
    input:
        plan=plan_file("aa"),
        ready=waits_for("aa", "preflight.json"),
    output:
        history="results/{study}/aa/seed{seed}/history.jsonl",
        run="results/{study}/aa/seed{seed}/run.json",
    log:
        "results/{study}/logs/aa-seed{seed}.log",
    priority: priority("aa")
    retries: 0
    conda:
        ENVIRONMENT
    threads: threads_of
    resources:
        gpu=1,
        host=100,
    shell:
        "python workflow/scripts/run.py --plan {input.plan:q} --rule repeat_reference"
        " --threads {threads} --gpu {resources.gpu} --log {log:q}"


rule profile:
    input:
        plan=plan_file("profile"),
        ready=waits_for("profile", "preflight.json"),
    output:
        result="results/{study}/profiles/{arm}.json",
        run="results/{study}/profiles/{arm}.run.json",
    log:
        "results/{study}/logs/profile-{arm}.log",
    priority: priority("profile")
    retries: 0
    conda:
        ENVIRONMENT
    threads: threads_of
    resources:
        gpu=1,
        host=100,
    shell:
        "python workflow/scripts/run.py --plan {input.plan:q} --rule profile"
        " --threads {threads} --gpu {resources.gpu} --log {log:q}"


rule candidate:
    input:
        plan=plan_file("candidate"),
        ready=waits_for("candidate", "preflight.json"),
    output:
        result="results/{study}/candidates/{arm}.json",
        run="results/{study}/candidates/{arm}.run.json",
    log:
        "results/{study}/logs/candidate-{arm}.log",
    priority: priority("candidate")
    retries: 0
    conda:
        ENVIRONMENT
    threads: threads_of
    resources:
        gpu=1,
        host=100,
    shell:
        "python workflow/scripts/run.py --plan {input.plan:q} --rule candidate"
        " --threads {threads} --gpu {resources.gpu} --log {log:q}"
