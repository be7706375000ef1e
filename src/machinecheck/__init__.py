"""Measures one thing about a machine per process: is this device right, does it repeat, how fast is it.

``python -m machinecheck`` has a probe, cells (one measurement each), a runner that isolates cells, and a
self-test that plants faults. Functions that judge take numbers and return verdicts; they run nothing.
"""

__version__ = "1"
METHOD_VERSION = 1  # raised when a number of an old record could not be compared with a new one
