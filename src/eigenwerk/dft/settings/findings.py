"""What is found wrong while inputs are read: errors of readers become problems, so that the reading goes on."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from eigenwerk.errors import InputError
from eigenwerk.io.vasp.input.incar import Incar
from eigenwerk.io.vasp.problem import Problem

_PLACE = re.compile(r"(?P<file>[\w.+/-]+)(?: line (?P<line>[0-9]+))?: (?P<message>.*)", re.DOTALL)


@dataclass
class Findings:
    """Problems in the order in which they were found."""

    problems: list[Problem] = field(default_factory=list)

    def add(self, *problems: Problem) -> None:
        """Keep problems that are there already as objects."""
        self.problems += problems

    def error(self, file: str, message: str, remedy: str = "") -> None:
        """Something that forbids a run."""
        self.problems.append(Problem("error", file, None, message, remedy=remedy))

    def warn(self, file: str, message: str, remedy: str = "") -> None:
        """Something to look at."""
        self.problems.append(Problem("warning", file, None, message, remedy=remedy))

    def note(self, file: str, message: str, remedy: str = "") -> None:
        """Something worth saying."""
        self.problems.append(Problem("note", file, None, message, remedy=remedy))

    @contextmanager
    def collecting(self, file: str, line: int | None = None) -> Iterator[None]:
        """Turns an InputError of the block into a problem of `file`, unless its message names another place."""
        try:
            yield
        except InputError as error:
            self.problems.append(_as_problem(str(error), file, line))


def _as_problem(message: str, file: str, line: int | None) -> Problem:
    """'POSCAR line 7: there are …' as a problem of line 7 of POSCAR."""
    match = _PLACE.fullmatch(message)
    if match is None or match["file"].upper() != match["file"]:  # 'Element Si: …' names no file
        return Problem("error", file, line, message)
    named = None if match["line"] is None else int(match["line"])
    return Problem("error", match["file"], named, match["message"])


PLACES = {
    "time step": "POTIM", "displacement": "POTIM", "friction": "LANGEVIN_GAMMA", "collision": "ANDERSEN_PROB",
    "temperature": "TEBEG", "absolute zero": "TEBEG", "above 0 K": "TEBEG", "chain": "NHC_NCHAINS",
    "scaled every": "NBLOCK", "cell of mass": "PMASS", "csvr": "CSVR_PERIOD", "velocities": "SMASS", "Suzuki": "NHC_NS",
}  # fmt: skip
"""Words of what is wrong with settings, and the tags that mean them."""


def placed(incar: Incar, tags: Sequence[str], message: str) -> Problem:
    """A problem of the tag that a message names or means, if it is given; else of NSW, which asks for all of it."""
    named = [tag for tag in tags if f"{tag} =" in message or message.startswith(tag)]
    named.sort(key=lambda tag: not message.startswith(f"{tag} ="))
    meant = [tag for words, tag in PLACES.items() if words in message]
    tag = next((tag for tag in (*named, *meant) if tag in incar.values), "NSW")
    message = re.sub(rf"^{tag} = [^:]*: ", "", message)
    what, _, remedy = message.rstrip(".").rpartition(". ")
    return incar.problem(tag, what or message.rstrip("."), f"{remedy}." if what else "")
