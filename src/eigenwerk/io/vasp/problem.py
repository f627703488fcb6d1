"""What is wrong, doubtful or worth saying about an input file.

Readers collect problems instead of stopping at the first one, so that `eigenwerk check` can list
them all; `raise_errors` turns the errors among them into one `InputError`.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from eigenwerk.errors import InputError

SEVERITIES = ("error", "warning", "note")


@dataclass(frozen=True)
class Problem:
    """One finding about one place of an input file.

    severity: 'error' (the run cannot start), 'warning' (it can, but look at this) or 'note'.
    file: name of the file; line: counted from 1, None when the finding concerns the whole file;
    tag, value: as the user wrote them (empty outside INCAR); message: what happened, with which
    numbers; remedy: what to do, empty when nothing has to be done.
    """

    severity: str
    file: str
    line: int | None
    message: str
    tag: str = ""
    value: str = ""
    remedy: str = ""

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file} line {self.line}"
        text = f"{place}: {self._subject()}{self.message}"
        return f"{_stop(text)} {_stop(self.remedy)}" if self.remedy else _stop(text)

    def _subject(self) -> str:
        """The statement in question, joined to the message: 'NBANDS = 4, but …' or 'NBANDS = 4: …'."""
        if not self.tag:
            return ""
        statement = f"{self.tag} = {self.value}" if self.value else self.tag
        return statement if self.message.startswith((",", " ")) else f"{statement}: "


def errors(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """The problems that forbid a run."""
    return tuple(problem for problem in problems if problem.severity == "error")


def raise_errors(problems: Iterable[Problem]) -> None:
    """Raise one InputError that lists every error among the problems; do nothing without any."""
    found = errors(problems)
    if found:
        raise InputError("\n".join(str(problem) for problem in found))


def _stop(text: str) -> str:
    """The text with a full stop at its end."""
    return text if text.endswith((".", "!", "?")) else f"{text}."
