"""The stub's parity command: the arm ``far`` is off by 1, every other one by a rounding error."""

import argparse
import json
import os
from pathlib import Path

ERRORS = {"far": 1.0}
ROUNDING = 1e-6


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--arms", required=True)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    with open("parity.log", "a", encoding="utf-8") as log:  # the test's own count of what really ran
        log.write(f"{arguments.arms} {os.environ.get('STUB_PATH')}\n")
    common = {"name": "output", "dtype": "float32", "nonfinite_rows": 0, "tolerance": 1e-3, "repeat_max_abs": 0.0}
    tensors = [
        {**common, "arm": arm, "rmse_fp64": error, "max_abs_fp64": error, "max_abs_reference": error}
        for arm in arguments.arms.split(",")
        for error in [ERRORS.get(arm, ROUNDING)]
    ]
    arguments.out.write_text(json.dumps({"schema": "parity/1", "batches": 20, "rows": 640, "tensors": tensors}))


main()
