"""The error that a user is meant to read."""


def in_one_line(text: str) -> str:
    """``text`` with an escape for what fits in no line or in no UTF-8: a name of a file may hold anything."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


class TachographError(Exception):
    """One sentence for the user: which file or thing, which place in it, what was found, what was expected.

    Programs print it without a traceback and exit with :attr:`exit_code`.
    """

    exit_code = 2

    def __str__(self) -> str:
        return in_one_line(super().__str__())


class LeaseUnavailableError(TachographError):
    """The device stayed taken for longer than we may wait; trying again later is right (EX_TEMPFAIL)."""

    exit_code = 75
