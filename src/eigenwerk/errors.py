"""The errors a user can meet: what happened, with which numbers, and what to do.

Every error that leaves eigenwerk on purpose is an `EigenwerkError`; its `exit_code` is what the
command line returns.
"""


LONGEST_LINE, MOST_LINES = 1000, 200
"""Characters and lines of a message: what a file holds in place of a number may be as long as the file."""


def shortened(text: str, longest: int = LONGEST_LINE) -> str:
    """A text without its middle if it is longer."""
    return text if len(text) <= longest else f"{text[: longest // 2]}…{text[-longest // 3 :]}"


class EigenwerkError(Exception):
    """Base of all errors raised on purpose."""

    exit_code = 1


class InputError(EigenwerkError):
    """The input is wrong or asks for something that does not exist; exit code 2.

    The message names the file, the line, the tag, the value and the remedy, as far as they apply.  One that is too long
    to be read loses the middle of its lines, and its last lines.
    """

    exit_code = 2

    def __init__(self, message: str = "") -> None:
        lines = message.split("\n")
        more = [f"… and {len(lines) - MOST_LINES} lines more."] if len(lines) > MOST_LINES else []
        super().__init__("\n".join([*map(shortened, lines[:MOST_LINES]), *more]))


class ConvergenceError(EigenwerkError):
    """An iteration did not reach its tolerance; exit code 3.  Names the last residuals."""

    exit_code = 3
