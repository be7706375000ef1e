"""Errors of the trainer that a user can act upon."""

from __future__ import annotations


class LostCitiesError(Exception):
    """Bad input or an impossible request, said in one sentence; the command line prints it and exits with 2."""


class NonFiniteTrainingError(Exception):
    """A NaN or an infinity appeared while training; the command line prints it and exits with 3."""


class WorkerLostError(Exception):
    """A worker process ended on its own; the command line prints it and exits with 4."""
