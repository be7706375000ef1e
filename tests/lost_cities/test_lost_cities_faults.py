"""What may happen to a training while it runs: numbers out of range, a full disk, a closed console, a second one."""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import resource
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import psutil
import pytest
from handlers_of_jobs import complaining
from tiny_lost_cities import QUICK, TINY, tiny_config

from lost_cities import processes
from lost_cities.checkpoint import CHECKPOINT, save_checkpoint
from lost_cities.cli import main
from lost_cities.errors import LostCitiesError, NonFiniteTrainingError, is_memory_error
from lost_cities.evaluation import Match, play_match
from lost_cities.files import taken
from lost_cities.processes import WorkerPool
from lost_cities.train import train
from lost_cities.trainer import Trainer
from lost_cities.traversal import Sampling, Traverser

ARGUMENTS = [part for setting in QUICK for part in ("--set", setting)]


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("sampling", ["outcome", "external"])
def test_answers_that_are_not_finite_end_the_traversals(number, sampling):
    """A NaN or an infinity from an advantage network is told, never taken for an action."""

    def answers(_, inputs):
        return np.full((len(inputs), TINY.actions), number, np.float32)

    traverser = Traverser(TINY, Sampling(sampling, 0.1, True, 5.0, 1000), 4)
    with pytest.raises(NonFiniteTrainingError, match="advantage network is not finite"):
        traverser.run(answers, 1, 1, 0, 8)


def test_answers_that_are_not_finite_end_an_evaluation():
    """The strategy network's too: no game is played with them."""

    def answers(inputs):
        return np.full((len(inputs), TINY.actions), np.nan, np.float32)

    with pytest.raises(NonFiniteTrainingError, match="strategy network is not finite"):
        play_match(TINY, answers, Match("random", 2, 4, False, 1, 1))


def test_an_update_that_overflows_ends_the_training(tmp_path):
    """Finite losses and then weights that are not: the training ends in the iteration in which they appear."""
    settings = ["optimization.strategy_learning_rate=1000", "optimization.strategy_updates=1", "network.layers=30"]
    with pytest.raises(NonFiniteTrainingError, match=r"not finite|the loss is"):
        train(tiny_config(*settings), tmp_path / "out", seed=5)


def test_a_checkpoint_that_the_disk_refuses_leaves_the_one_before(tmp_path):
    """A limit of file size in the middle of a checkpoint: one sentence, the old file as it was, no part of the new."""
    path = tmp_path / CHECKPOINT
    trainer = Trainer(tiny_config(), 5)
    save_checkpoint(path, trainer, {"iteration": 0})
    before = path.read_bytes()
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8192, hard))
    try:
        with pytest.raises(LostCitiesError, match=f"{CHECKPOINT} cannot be written: .*the one before it"):
            save_checkpoint(path, trainer, {"iteration": 1})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == [CHECKPOINT]


def test_a_console_that_is_full_or_closed_is_told(tmp_path, monkeypatch, capsys):
    """The row is kept, and the sentence says what could not be written."""
    with open("/dev/full", "w") as full:
        monkeypatch.setattr("sys.stdout", full)
        assert main(["train", *ARGUMENTS, "--out", str(tmp_path / "out")]) == 2
    told = capsys.readouterr().err
    assert told == "lost_cities: error: standard output cannot be written: No space left on device\n"
    assert json.loads((tmp_path / "out" / "metrics.jsonl").read_text())["iteration"] == 1


def test_a_training_that_failed_before_its_first_row_can_start_again(tmp_path):
    """Its empty metrics are no training: the same folder is taken again, without --resume."""
    with pytest.raises(LostCitiesError, match="more than 1 decisions"):
        train(tiny_config("traversal.max_decisions=1"), tmp_path / "out", seed=5)
    assert (tmp_path / "out" / "metrics.jsonl").read_text() == ""
    assert train(tiny_config("run.iterations=1"), tmp_path / "out", seed=5).iteration == 1


def test_a_folder_is_for_one_training_at_a_time(tmp_path, capsys):
    """--resume beside a training that still runs, and a new training over an old checkpoint: refused, nothing lost."""
    out = tmp_path / "out"
    assert main(["train", *ARGUMENTS, "--out", str(out)]) == 0
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    resume = ["train", *ARGUMENTS, "--out", str(out), "--resume"]
    with taken(out):
        assert main(resume) == 2
    assert "is in use by a training that still runs" in capsys.readouterr().err
    assert main(resume) == 0
    assert "nothing to do: " in capsys.readouterr().out
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    (out / "metrics.jsonl").unlink()
    assert main(resume[:-1]) == 2
    assert "checkpoint.pt exists already, expected a new folder or --resume" in capsys.readouterr().err
    assert (out / CHECKPOINT).read_bytes() == before[CHECKPOINT]


@pytest.mark.parametrize(
    ("complaint", "kind", "words"),
    [
        (NonFiniteTrainingError("a NaN"), NonFiniteTrainingError, "a NaN"),
        (MemoryError(), LostCitiesError, "not enough memory for this configuration: no more could be had"),
        (
            RuntimeError("can't allocate memory: 9 bytes"),
            LostCitiesError,
            ".*: can't allocate memory: 9 bytes",
        ),
    ],
)
def test_what_ends_a_worker_is_told_as_if_it_had_happened_here(complaint, kind, words):
    """The life of a worker, here in a thread: what it sends is an error of the kind that decides the exit code."""
    ours, theirs = multiprocessing.Pipe()
    worker = threading.Thread(target=processes._serve, args=(theirs, complaining, (complaint,)))
    worker.start()
    assert ours.recv() == (processes.READY, None, None)
    ours.send((0, "work"))
    number, error, result = ours.recv()
    ours.close()
    worker.join()
    assert (number, type(error), result) == (0, kind, None)
    assert re.fullmatch(words, str(error))


@pytest.mark.parametrize(
    ("words", "short"),
    [
        ("CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 1.00 GiB", True),
        ("[enforce fail at alloc_cpu.cpp:124] err == 0. DefaultCPUAllocator: can't allocate memory: ...", True),
        ("CUDA error: an illegal memory access was encountered", False),
        ("Unsupported memory format. Supports only ChannelsLast, ChannelsLast3d", False),
    ],
)
def test_not_all_that_torch_says_of_memory_is_a_lack_of_it(words, short):
    """Less memory would not help against an access to the wrong place: that stays an error with its own words."""
    assert is_memory_error(RuntimeError(words)) == short


def test_errors_inside_a_taken_folder_keep_their_words(tmp_path):
    """A console that takes nothing for now raises BlockingIOError too: nobody else has the folder."""
    with pytest.raises(BlockingIOError, match="write could not complete"), taken(tmp_path):
        raise BlockingIOError("write could not complete without blocking")


def test_a_stopped_worker_is_named_and_cannot_hold_up_the_end(monkeypatch, capfd):
    """Who waits for a stopped worker is told its number; closing the pool ends it all the same."""
    monkeypatch.setattr(processes, "PATIENCE", 0.1)
    monkeypatch.setattr(processes, "GRACE", 0.1)
    pool = WorkerPool(complaining, (LostCitiesError("awake"),), 1, "test")
    try:
        pool.wait_ready()
        (number,) = pool.process_ids
        os.kill(number, signal.SIGSTOP)
        pool.submit(["work"])
        for _ in range(3):
            pool._take_in(timeout=None)
        told = capfd.readouterr().err
        assert told.count("\n") == 1
        assert f"test worker (process {number}) is stopped; waiting for it to go on (kill -CONT {number})" in told
    finally:
        pool.close()
    assert not psutil.pid_exists(number)


def test_an_interrupt_does_not_reach_workers_that_start(tmp_path):
    """Ctrl-C reaches all processes of a console, workers that still import too: the parent alone speaks."""
    script = """
from handlers_of_jobs import complaining
from lost_cities.processes import WorkerPool
pool = WorkerPool(complaining, (ValueError(),), 2, "test")
try:
    print("started", flush=True)
    pool.wait_ready()
    import time
    time.sleep(60)
except KeyboardInterrupt:
    print("interrupted")
    pool.close()
"""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    command = [sys.executable, "-c", script]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, start_new_session=True, env=environment, **pipes) as process:
        assert process.stdout.readline() == "started\n"
        os.killpg(process.pid, signal.SIGINT)
        assert process.communicate(timeout=60) == ("interrupted\n", "")
    assert process.returncode == 0
