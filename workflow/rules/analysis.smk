"""From sealed files to numbers, tables and figures. Nothing here uses the device; an edit here trains nothing."""


rule analyse:
    input:
        results=lambda wildcards: STUDIES[wildcards.study].files(),
        machine="results/{study}/machine.json",
        preflight="results/{study}/preflight.json",
        registered=registered,
    output:
        "results/{study}/tables/analysis.json",
    localrule: True
    conda:
        ENVIRONMENT
    resources:
        host=1,
    params:
        code=own_code,
    shell:
        "{PYTHON:q} {SCRIPTS:q}/analyse.py --study {wildcards.study:q} --out {output:q}"


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
    localrule: True
    conda:
        ENVIRONMENT
    resources:
        host=1,
    params:
        code=own_code,
    shell:
        "{PYTHON:q} {SCRIPTS:q}/table.py --analysis {input:q} --name {wildcards.name:q} --out {output:q}"


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
    localrule: True
    conda:
        ENVIRONMENT
    resources:
        host=1,
    params:
        code=own_code,
    shell:
        "{PYTHON:q} {SCRIPTS:q}/figure.py --analysis {input:q} --name {wildcards.name:q} --out {output:q}"
