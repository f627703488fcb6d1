"""What is wrong, doubtful or worth saying about an input file.

Readers collect problems instead of stopping at the first one, so that `eigenwerk check` can list
them all; `raise_errors` turns the errors among them into one `InputError`.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from eigenwerk.errors import InputError, shortened

MOST_OF_A_KIND = 30
"""So many problems of one severity are told of one file."""

LONGEST_VALUE = 100

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

    def __post_init__(self) -> None:
        for name in ("message", "remedy"):
            object.__setattr__(self, name, shortened(getattr(self, name)))
        for name in ("tag", "value"):
            object.__setattr__(self, name, shortened(getattr(self, name), LONGEST_VALUE))

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


def limited(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """The first problems of each severity, and one that counts the others."""
    kept: list[Problem] = []
    left_out: dict[str, list[Problem]] = {}
    for problem in problems:
        if sum(other.severity == problem.severity for other in kept) < MOST_OF_A_KIND:
            kept.append(problem)
        else:
            left_out.setdefault(problem.severity, []).append(problem)
    for severity, others in left_out.items():
        what = "mistake" if severity == "error" else severity
        kept.append(Problem(severity, others[0].file, others[0].line, f"and {len(others)} more {what}s from here on"))
    return tuple(kept)


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
