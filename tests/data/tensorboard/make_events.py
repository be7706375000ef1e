"""Make the event file beside this one: python tests/data/tensorboard/make_events.py (needs torch and tensorboard).

Six steps of a training as `torch.utils.tensorboard` writes it, scalars in the old and in the new style, with events
that are none in between. The clock is set, so that the same bytes come of it.
"""

import tempfile
import time
from pathlib import Path

BEGUN = 1_780_000_000.0
time.time = lambda: BEGUN  # before the writer binds it

import numpy as np  # noqa: E402
from torch.utils.tensorboard import SummaryWriter  # noqa: E402

with tempfile.TemporaryDirectory() as folder:
    writer = SummaryWriter(folder)
    writer.add_text("about", "a text is no scalar", 0)
    for step in range(1, 7):
        now = BEGUN + 0.0025 * step
        writer.add_scalar("train/loss", 2.0 / step, step, walltime=now - 0.0003)
        writer.add_scalar("samples", 512, step, walltime=now - 0.0002, new_style=True)
        writer.add_scalar("loss scale", 1.5, step, walltime=now - 0.0001, new_style=True, double_precision=True)
        if step == 2:
            writer.add_histogram("weights", np.array([1.0, 2.0, 2.5]), step, bins=3, walltime=now)
        writer.add_scalar("seconds", 0.002 + 0.0001 * step, step, walltime=now)
        if step % 3 == 0:
            writer.add_scalar("eval/score", 0.125 * step, step, walltime=now)
    writer.close()
    (made,) = Path(folder).iterdir()
    made.rename(Path(__file__).with_name("events.out.tfevents.six-steps"))
