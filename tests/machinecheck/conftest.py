"""Waiting threads must not spin while tests share few processors; read when torch is loaded."""

import os

os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("OMP_NUM_THREADS", "1")
