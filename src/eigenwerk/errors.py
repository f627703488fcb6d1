"""The errors a user can meet: what happened, with which numbers, and what to do.

Every error that leaves eigenwerk on purpose is an `EigenwerkError`; its `exit_code` is what the
command line returns.
"""


class EigenwerkError(Exception):
    """Base of all errors raised on purpose."""

    exit_code = 1


class InputError(EigenwerkError):
    """The input is wrong or asks for something that does not exist; exit code 2.

    The message names the file, the line, the tag, the value and the remedy, as far as they apply.
    """

    exit_code = 2


class ConvergenceError(EigenwerkError):
    """An iteration did not reach its tolerance; exit code 3.  Names the last residuals."""

    exit_code = 3
