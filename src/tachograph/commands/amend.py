"""``tachograph amend STUDY --reason …``: put a change of a registered study on record."""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path
from typing import Any

from tachograph.errors import TachographError
from tachograph.execution.rejudging import register_and_judge
from tachograph.files import canonical_json
from tachograph.scripting import configuration
from tachograph.study.opening import open_study
from tachograph.study.registration import changes, content, current, read_registration
from tachograph.study.session import exclusive_session
from tachograph.study.state import read_state
from tachograph.study.status import execution_command, write_status


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser("amend", help="put a change of a registered study on record")
    parser.add_argument("study")
    parser.add_argument("--reason", required=True)
    parser.set_defaults(function=run)


def run(arguments: argparse.Namespace) -> int:
    one = open_study(arguments.study, configuration(), Path.cwd())
    registration = read_registration(one.folder)
    if registration is None:
        raise TachographError(f"study {arguments.study} is not registered yet: edit it freely")
    if not arguments.reason.strip():
        raise TachographError("--reason: found nothing, expected why the study changes")
    held = current(registration)
    if held["sha256"] == one.digest:
        raise TachographError(f"study {arguments.study} is as it is registered, so there is nothing to amend")
    with exclusive_session(one.folder):
        state = read_state(one.folder)
        _, changed = register_and_judge(one, Path.cwd(), arguments.reason)
        write_status(one.folder)
    for change in changes(held["content"], content(one.study, one.trainer, one.planned)):
        print("\n".join(change_told(change["key"], change["before"], change["after"])))
    for again in changed:
        why = f" ({again.now.reason})" if again.now.reason else ""
        print(f"{again.attempt.key}: attempt {again.attempt.number} was judged again: {again.now.validity}{why}")
    known = "known" if state.any_finished else "not yet known"
    print(f"Amended; the results of finished runs were {known}. Next: {execution_command(arguments.study)}")
    return 0


def change_told(key: str, before: Any, after: Any) -> list[str]:
    """What an amendment changes, in lines: of a list, such as the cells of a machine study, what it loses and gains."""
    if not (isinstance(before, list) and isinstance(after, list)):
        return [f"{key}: {before!r} -> {after!r}"]
    old, new = (list(map(canonical_json, one)) for one in (before, after))
    lost, gained = Counter(old) - Counter(new), Counter(new) - Counter(old)
    lines = [f"{key}: - {one}" for one in lost.elements()] + [f"{key}: + {one}" for one in gained.elements()]
    return lines or [f"{key}: another order"]
