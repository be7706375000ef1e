"""Errors of the trainer that a user can act upon."""

from __future__ import annotations


class ArmiesError(Exception):
    """Bad input, said in one sentence; the command line prints it and exits with 2."""


class NonFiniteTrainingError(Exception):
    """A NaN or an infinity appeared while training; the command line prints it and exits with 3."""
