"""The errors of this package that a person is meant to read."""


class MachineCheckError(Exception):
    """One sentence: which file or setting, what was found, what was expected. Exit code 2."""

    exit_code = 2


class UnwritableError(MachineCheckError):
    """A file could not be written, which says nothing about what was measured. Exit code 1."""

    exit_code = 1
