"""``status.md``: what is planned, what counts, what failed and why, and what to do next. Always current."""

from __future__ import annotations

from collections.abc import Callable

from tabulate import tabulate

from tachograph.files import write_text
from tachograph.record.markdown import text
from tachograph.study.integrity import damaged_files, run_command
from tachograph.study.layout import StudyFolder
from tachograph.study.ledger import utc_now
from tachograph.study.planning import PlannedRun
from tachograph.study.recovery import as_seen_now
from tachograph.study.registration import current_study, read_registration
from tachograph.study.state import StudyState, counts, read_state
from tachograph.wording import counted


def write_status(folder: StudyFolder) -> None:
    """Write ``status.md`` from the registration and the ledger; nothing before the registration."""
    registration = read_registration(folder)
    if registration is None:
        return
    study, _, planned = current_study(registration)
    state = as_seen_now(read_state(folder))
    write_text(folder.status, status_page(study.title, folder, planned, state))


def status_page(
    title: str, folder: StudyFolder, planned: list[PlannedRun], state: StudyState, text: Callable[[str], str] = text
) -> str:
    """The page as Markdown; ``text`` makes words of others harmless where they are shown, by default in Markdown."""
    number = counts(planned, state)
    rows = [_row(run, state, text) for run in planned]
    table = tabulate(rows, headers=["run", "state", "attempts", "last attempt"], tablefmt="github")
    lines = [
        f"# {text(title)}",
        "",
        f"Status of study `{folder.path.name}`, written {utc_now()}.",
        "",
        f"{number['planned']} planned = {number['counted']} counted + {number['invalid']} invalid + "
        f"{number['missing']} missing.",
        "",
        f"{counted(number['attempts'], 'attempt')} = {number['finished']} finished + {number['failed']} failed + "
        f"{number['killed']} killed + {number['time_limit']} time_limit + {number['interrupted']} interrupted"
        + (f" + {number['running']} running" if number["running"] else "")
        + f"; {number['discarded']} discarded.",
        "",
        table,
        "",
        f"Next: {next_step(folder, planned, state)}",
        "",
    ]
    return "\n".join(lines)


def _row(run: PlannedRun, state: StudyState, text: Callable[[str], str]) -> list[str]:
    latest = state.latest(run.key)
    tries = len(state.attempts.get(run.key, []))
    if latest is None:
        last = "–"
    elif latest.status is None:
        last = f"running since {latest.started_at}"
    else:
        last = latest.status
        if latest.reason:
            last += ": " + text(latest.reason)
        if latest.discarded:
            last += f" (discarded: {text(latest.discarded['reason'])})"
        elif latest.identity != run.identity:
            last += " (made of an earlier version of the study)"
    standing = state.settled(run)
    if standing is not None and standing is not latest:
        last += f"; attempt {standing.number} {'counts' if standing.counts else 'stands as invalid'}"
    return [run.key, state.run_status(run), str(tries), last]


def execution_command(study: str, cores: str = "all") -> str:
    """The command line that executes ``study``, whatever config/config.yaml names."""
    return f"snakemake --cores {cores} --resources gpu=1 --config studies='[\"{study}\"]'"


def next_step(folder: StudyFolder, planned: list[PlannedRun], state: StudyState) -> str:
    """One sentence: what the user does now."""
    open_runs = [run for run in planned if state.settled(run) is None]
    if open_runs:
        keys = ", ".join(run.key for run in open_runs)
        failed = [run.key for run in open_runs if state.open_failure(run)]
        sentence = f"`{execution_command(folder.path.name)}` makes what is open: {keys}."
        if failed:
            settle = run_command("settle", folder.path.name, failed[0])
            sentence += f" If it fails again whatever you do, `{settle}` lets it stand as invalid in the record."
        return sentence
    if not folder.record_seal.exists():
        return f"all runs have a result; `{execution_command(folder.path.name)}` writes the record."
    broken = damaged_files(folder, state)
    if broken:
        path, wrong, way_on = broken[0]
        return f"`{path}`: {wrong}; {way_on}."
    invalid = [run for run in planned if state.counted(run) is None]
    again = f"; `snakemake {folder.path / invalid[0].target} -f` makes an invalid run again" if invalid else ""
    return f"nothing; the record is in `{folder.record}/record.md`{again}."
