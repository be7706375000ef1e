"""The error that a user is meant to read."""


class TachographError(Exception):
    """One sentence for the user: which file or thing, which place in it, what was found, what was expected.

    Programs print it without a traceback and exit with :attr:`exit_code`.
    """

    exit_code = 2


class LeaseUnavailableError(TachographError):
    """The device stayed taken for longer than we may wait; trying again later is right (EX_TEMPFAIL)."""

    exit_code = 75
