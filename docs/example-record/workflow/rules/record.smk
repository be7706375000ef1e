"""The record of a study: sealed, write-once, whole and movable.

Snakemake deletes declared outputs before a job, so nothing of a record is one; the declared output is the seal beside
it, the SHA-256 of its manifest.
"""


rule record:
    input:
        analysis="results/{study}/tables/analysis.json",
        pages=lambda wildcards: pages(wildcards.study),
    output:
        "results/{study}/record.sha256",
    log:
        "results/{study}/logs/record.log",
    localrule: True
    conda:
        ENVIRONMENT
    resources:
        host=1,
    params:
        code=own_code,
    shell:
        "python workflow/scripts/record.py --study {wildcards.study:q} --out {output:q} 2>&1 | tee {log:q}"
