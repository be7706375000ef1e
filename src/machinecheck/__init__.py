"""Measures one thing about a machine per process: is this device right, does it repeat, how fast is it.

``python -m machinecheck`` has a probe and cells (one measurement each). A cell compares arrays where they are and
writes numbers, no verdict; planning, isolating, aggregating and judging is the work of a machine study.
"""

__version__ = "1"
METHOD_VERSION = 3  # raised when a number of an old record could not be compared with a new one
