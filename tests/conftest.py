"""What all tests need: signals as a terminal gives them."""

from __future__ import annotations

import signal

# Started in the background or by nohup, this process may ignore these two, and so would every program it starts.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
