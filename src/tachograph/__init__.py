"""Tachograph: pre-registered throughput studies of training loops, executed by Snakemake.

This package is the study engine. It knows trainers by their commands and files only, and imports neither
torch nor any trainer; trainers may import :mod:`tachograph.instrument` and nothing else of it.
"""

__version__ = "0.5.0"
