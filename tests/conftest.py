"""What all tests need: signals as a terminal gives them, and an environment that no test before has changed."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from unittest.mock import patch

import pytest

# Started in the background or by nohup, this process may ignore these two, and so would every program it starts.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture(autouse=True)
def environment_as_it_was() -> Iterator[None]:
    """What a test tells its jobs by the environment, as a session of the workflow does, is gone for the next test."""
    with patch.dict(os.environ):
        yield
