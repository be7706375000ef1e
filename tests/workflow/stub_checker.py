"""A checker that measures nothing: it writes the record it is asked for, or ends as it is asked to."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from pathlib import Path

HOST = {
    "samples": 1,
    "processors": 2,
    "foreign_processors": {"mean": 0.0, "min": 0.0, "max": 0.0},
    "stolen_processors": {"mean": 0.0, "min": 0.0, "max": 0.0},
    "load_average": {"mean": 0.1, "min": 0.1, "max": 0.1},
    "cpu_clock_mhz": {"mean": 2000.0, "min": 2000.0, "max": 2000.0},
    "unknown": {"power_watts": "a stub has none"},
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("what")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--device")
    parser.add_argument("--end", default="well")
    parser.add_argument("--library", default="torch")
    arguments = parser.parse_args()
    with Path("measured.log").open("a") as log:
        log.write(f"{arguments.out.parent.parent.name}\n")
    if arguments.what == "probe":
        facts = {"devices": [], "torch": {}, "environment": {}, "processor": {"model": "stub"}}
        arguments.out.write_text(json.dumps({"id": "MACH-stub", "taken": "now", "facts": facts, "unknown": {}}))
        return
    end = arguments.end if "STUB_FAULT" not in os.environ else "wrong"
    if end == "crash" or (end == "needs" and "libm.so.6" not in os.environ.get("LD_PRELOAD", "")):
        os.kill(os.getpid(), signal.SIGSEGV)
    if end in ("hang", "slow"):
        time.sleep(60 if end == "hang" else 3)
    if end == "kernel":
        sys.exit("RuntimeError: miopenStatusUnknownError")
    wrong = 3 if end == "wrong" else 0
    compared = {"elements": 64, "nonfinite": 0, "wrong": wrong, "relative": 1e-7, "ratio": 2.0 if wrong else 0.5}
    record = {
        "settings": {"device": arguments.device, "library": arguments.library, "end": arguments.end},
        "fault": os.environ.get("STUB_FAULT"),
        "measured": {"reference": {"usable": True}, "comparisons": {"C": compared}},
        "verdict": "PASS",  # what a checker thinks of itself is not asked
        "host": HOST,
    }
    if end == "boasts":
        record["measured"] = {"quality": "excellent"}
    if end == "chatters":
        print("all is well " * 2_000_000)
    if end == "garbage":
        arguments.out.write_text('{"verdict": "PASS", "measured": {"wrong": NaN')
        return
    arguments.out.write_text(json.dumps(record))


main()
