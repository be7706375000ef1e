"""From sealed files to numbers, tables and figures. Nothing here uses the device; an edit here trains nothing."""


rule analyse:
    input:
        results=lambda wildcards: STUDIES[wildcards.study].files(),
        machine="results/{study}/machine.json",
        preflight="results/{study}/preflight.json",
        registered=registered,
    output:
        "results/{study}/tables/analysis.json",
    log:
        "results/{study}/logs/analyse.log",
    localrule: True
    conda:
        ENVIRONMENT
    resources:
        host=1,
    params:
        code=own_code,
    shell:
        "python workflow/scripts/analyse.py --study {wildcards.study:q} --out {output:q} 2>&1 | tee {log:q}"


rule table:
    input:
        "results/{study}/tables/analysis.json",
    output:
        report(
            "results/{study}/tables/{name}.csv",
            caption="../report/table.rst",
            category="{study}",
            subcategory="Tables",
            labels={"table": "{name}"},
        ),
    log:
        "results/{study}/logs/table-{name}.log",
    localrule: True
    conda:
        ENVIRONMENT
    resources:
        host=1,
    params:
        code=own_code,
    shell:
        "python workflow/scripts/table.py --analysis {input:q} --name {wildcards.name:q} --out {output:q} 2>&1 | tee {log:q}"


rule figure:
    input:
        "results/{study}/tables/analysis.json",
    output:
        report(
            "results/{study}/figures/{name}.svg",
            caption="../report/figure.rst",
            category="{study}",
            subcategory="Figures",
            labels={"figure": "{name}"},
        ),
        "results/{study}/figures/{name}.png",
    log:
        "results/{study}/logs/figure-{name}.log",
    localrule: True
    conda:
        ENVIRONMENT
    resources:
        host=1,
    params:
        code=own_code,
    shell:
        "python workflow/scripts/figure.py --analysis {input:q} --name {wildcards.name:q} --out {output:q} 2>&1 | tee {log:q}"
