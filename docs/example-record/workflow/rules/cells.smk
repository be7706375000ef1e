"""What is measured about the machine, one process per cell: a machine study, or the preflight of a training study.

A cell that crashes, hangs or cannot build a kernel has a result too, so its job succeeds and the others go on. They
become ready together once all plans are there, so that their priorities fix the registered order.
"""


rule cell:
    input:
        plan=plan_file("cell"),
        registered=ancient(registered),
        machine=ancient("results/{study}/machine.json"),
        ready=ancient(all_plans),
    output:
        result="results/{study}/cells/{arm}.json",
        run="results/{study}/cells/{arm}.run.json",
    log:
        "results/{study}/logs/cell-{arm}.log",
    priority: priority("cell")
    retries: 0
    conda:
        ENVIRONMENT
    threads: threads_of
    resources:
        gpu=1,
        host=100,
    shell:
        "python workflow/scripts/run.py --plan {input.plan:q} --rule cell"
        " --threads {threads} --gpu {resources.gpu} --log {log:q}"


rule verdict:
    input:
        "results/{study}/record.sha256",
    output:
        "results/{study}/verdict.txt",
    log:
        "results/{study}/logs/verdict.log",
    localrule: True
    conda:
        ENVIRONMENT
    resources:
        host=1,
    shell:
        "python workflow/scripts/verdict.py --study {wildcards.study:q} --out {output:q} 2>&1 | tee {log:q}"
