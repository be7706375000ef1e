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


# One job for all tables of a study and one for its figures: each starts a program, which costs more than a table does.
# Which there are depends on the registration, which no wildcard can tell, so each study has rules of its own.
for study in STUDIES:

    rule:
        name:
            f"tables_of_{study}"
        input:
            f"results/{study}/tables/analysis.json",
        output:
            [
                report(
                    path,
                    caption="../report/table.rst",
                    category=study,
                    subcategory="Tables",
                    labels={"table": Path(path).stem},
                )
                for path in table_files(study)
            ],
        log:
            f"results/{study}/logs/tables.log",
        localrule: True
        conda:
            ENVIRONMENT
        resources:
            host=1,
        params:
            code=own_code,
            study=study,  # for the caption
        shell:
            "python workflow/scripts/tables.py --analysis {input:q} --out {output:q} 2>&1 | tee {log:q}"

    rule:
        name:
            f"figures_of_{study}"
        input:
            f"results/{study}/tables/analysis.json",
        output:
            [
                report(
                    path,
                    caption="../report/figure.rst",
                    category=study,
                    subcategory="Figures",
                    labels={"figure": Path(path).stem},
                )
                for path in figure_files(study, "svg")
            ],
            figure_files(study, "png"),
        log:
            f"results/{study}/logs/figures.log",
        localrule: True
        conda:
            ENVIRONMENT
        resources:
            host=1,
        params:
            code=own_code,
            study=study,  # for the caption
        shell:
            "python workflow/scripts/figures.py --analysis {input:q} --out {output:q} 2>&1 | tee {log:q}"
