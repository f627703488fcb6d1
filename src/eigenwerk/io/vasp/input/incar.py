"""The INCAR file: read it, then judge it.

`read_incar` types every statement by the table of tags and collects whatever is wrong with the
file; `judge` says what eigenwerk makes of the tags: refused, ignored, or read in its own way.
Format: docs/formats/incar.md.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from eigenwerk.io.vasp.fortran import is_number
from eigenwerk.io.vasp.input.incar_syntax import Skipped, Statement, scan
from eigenwerk.io.vasp.input.incar_values import BadValue, ReadValue, choices_text, read_value, value_error
from eigenwerk.io.vasp.problem import MOST_OF_A_KIND, Problem, limited, raise_errors
from eigenwerk.io.vasp.tags.base import Derived, Tag, TagValue, same_value
from eigenwerk.io.vasp.tags.ions import STEERING_TAGS
from eigenwerk.io.vasp.tags.table import ALIASES, TAGS, family_of, find_tag, nearest_tag
from eigenwerk.io.vasp.textfile import read_text

_HIDDEN_STATEMENT = re.compile(r"\b([A-Za-z_][A-Za-z0-9_]*)\s*=")
_ONLY_WITH = re.compile(r"it acts only with (.*)")
_STEERING = frozenset(tag.name for tag in STEERING_TAGS)
_SHOWN, _SEARCHED = 60, 1000


@dataclass(frozen=True)
class Incar:
    """What an INCAR file says.

    values: typed by the table, only tags that could be read; lists are tuples; raw: the text after
    '=' of every tag, unknown ones included; line_of: line of every tag; problems: what is wrong or
    doubtful about the file itself; notes: text that is no statement, with its line.
    """

    file: str
    values: Mapping[str, object]
    raw: Mapping[str, str]
    line_of: Mapping[str, int]
    problems: tuple[Problem, ...] = ()
    notes: tuple[Skipped, ...] = ()

    def get(self, name: str, fallback: object = None) -> object:
        """The value of a tag; else its default if that is a value and not computed; else the fallback."""
        if name in self.values:
            return self.values[name]
        default = TAGS[name].default
        return fallback if default is None or isinstance(default, Derived) else default

    def broken(self, name: str) -> bool:
        """Whether a tag is given with a value that cannot be used, of which an error tells."""
        return name in self.raw and name not in self.values

    def problem(self, name: str, message: str, remedy: str = "", severity: str = "error") -> Problem:
        """A finding about a tag of this file, for checks made elsewhere: names line, tag and value."""
        line, value = self.line_of.get(name), _shown(self.raw.get(name, ""))
        return Problem(severity, self.file, line, message, name, value, remedy)

    def raise_on_errors(self) -> None:
        """Raise one InputError that lists all errors of the file."""
        raise_errors(self.problems)


def read_incar(path: str | Path) -> Incar:
    """Read an INCAR file; raises InputError only if the file cannot be opened (see `Incar.problems`)."""
    return parse_incar(read_text(path), Path(path).name)


def parse_incar(text: str, file: str = "INCAR") -> Incar:
    """The same from text."""
    statements, skipped, problems = scan(text, file)
    incar = _Collector(file, {}, {}, {}, list(problems))
    for statement in statements:
        incar.add(statement)
    incar.problems += [problem for note in skipped if (problem := _lost_statement(note, file))]
    if skipped and (not statements or not all(_is_text(note.text) for note in skipped)):
        incar.problems.append(_no_incar(skipped, file))
    found = limited(sorted(incar.problems, key=lambda problem: problem.line or 0))
    return Incar(file, incar.values, incar.raw, incar.line_of, found, tuple(skipped))


@dataclass
class _Collector:
    """Statements typed so far."""

    file: str
    values: dict[str, object]
    raw: dict[str, str]
    line_of: dict[str, int]
    problems: list[Problem]

    def add(self, statement: Statement) -> None:
        if statement.name in ALIASES:
            self._report("note", statement, f"read as {ALIASES[statement.name]}, its present name")
            statement = replace(statement, name=ALIASES[statement.name])
        tag = find_tag(statement.name)
        if statement.name in self.line_of:
            self._repeat(statement, tag)
            return
        self.raw[statement.name] = statement.text
        self.line_of[statement.name] = statement.line
        if tag is None:
            self._unknown(statement)
            return
        reading = self._read(tag, statement)
        if reading is not None:
            self.values[tag.name] = reading.value
            self._doubts(tag, statement, reading)

    def _report(self, severity: str, statement: Statement, message: str, remedy: str = "") -> None:
        value = _shown(statement.text)
        self.problems.append(Problem(severity, self.file, statement.line, message, statement.name, value, remedy))

    def _read(self, tag: Tag, statement: Statement) -> ReadValue | None:
        """The typed value; None, with an error reported, if there is none."""
        try:
            return read_value(tag, statement.text)
        except BadValue as error:
            self._report("error", statement, str(error), _remedy(tag))
            return None

    def _doubts(self, tag: Tag, statement: Statement, reading: ReadValue) -> None:
        wrong = value_error(tag, reading.value)
        if wrong:
            self._report("error", statement, wrong, tag.remedy or _remedy(tag))
        for doubt in reading.doubts:
            self._report("warning", statement, doubt)
        for name in _HIDDEN_STATEMENT.findall(reading.rest[:_SEARCHED]):
            if find_tag(name):
                message = f"the text after the value holds {name.upper()}, which is not read there"
                self._report("warning", statement, message, f"Put {name.upper()} on a line of its own.")

    def _repeat(self, statement: Statement, tag: Tag | None) -> None:
        """A tag for the second time: an error if it is not known which of two values counts, and if that matters."""
        first = self.line_of[statement.name]
        if self._same(statement, tag):
            self._report("note", statement, f"the tag was given on line {first} already, with the same value")
            return
        if statement.line == first and _opens(self.raw[statement.name]):
            first_text = _shown(self.raw[statement.name])
            message = f"it stands in brackets behind {statement.name} = {first_text}, which counts"
            self._report("warning", statement, message)
            return
        if tag is not None and tag.status == "inert" and not any(choice.status == "refused" for choice in tag.choices):
            self._report("note", statement, f"the tag was given on line {first} already; neither value counts")
            return
        message = f"but line {first} says {statement.name} = {_shown(self.raw[statement.name])}"
        self._report("error", statement, f", {message}", "Keep one of the two lines.")

    def _same(self, statement: Statement, tag: Tag | None) -> bool:
        if tag is None or tag.name not in self.values:
            return statement.text == self.raw[statement.name]
        try:
            return same_value(read_value(tag, statement.text).value, self.values[tag.name])
        except BadValue:
            return False

    def _unknown(self, statement: Statement) -> None:
        reason = family_of(statement.name)
        if reason:
            self._report("error", statement, reason, "Remove the line.")
            return
        # a file that is no INCAR would have each of its words compared to all tags
        near = nearest_tag(statement.name) if len(self.problems) < MOST_OF_A_KIND else None
        remedy = f"Did you mean {near}?" if near else "Correct the name, or remove the line."
        self._report("error", statement, f"there is no tag {statement.name}", remedy)


def _shown(text: str) -> str:
    """Text of the user on one line, cut to a length that fits a message."""
    text = " ".join(text.split())
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _remedy(tag: Tag) -> str:
    """What to write for a tag whose value could not be read."""
    if tag.choices and not tag.has_bounds():
        return f"Write one of {choices_text(tag)}."
    default = "" if tag.default is None or tag.default == () else f"; the default is {tag.default}"
    kind = {"int": "a whole number", "float": "a number", "bool": ".TRUE. or .FALSE.", "ints": "whole numbers",
            "floats": "numbers", "bools": "logicals"}.get(tag.kind, "a value")  # fmt: skip
    unit = f" in {tag.unit}" if tag.unit else ""
    return f"Write {tag.name} = {kind}{unit}, or remove the line{default}."


def _no_incar(skipped: list[Skipped], file: str) -> Problem:
    """An error for a file of something else."""
    odd = next((note for note in skipped if not _is_text(note.text)), None)
    message = f"none of its text is of the form TAG = value; it begins with {_shown(skipped[0].text)}"
    if odd is not None:
        message = f"it holds characters that no text has: {_shown(odd.text)}"
    remedy = "Put the INCAR of the calculation there; an empty file takes all defaults."
    return Problem("error", file, (odd or skipped[0]).line, message, remedy=remedy)


def _is_text(text: str) -> bool:
    """Whether there are no control characters but those of lines and pages."""
    codes = (ord(letter) for letter in text if letter not in "\t\n\f\v\x1a")
    return not any(code < 32 or 127 <= code < 160 for code in codes)


def _lost_statement(note: Skipped, file: str) -> Problem | None:
    """A warning for skipped text that was probably meant as a statement: 'ENCUT 400', 'for this run: NELM = 9'."""
    words = note.text.replace("=", " = ").split()
    name = words[words.index("=") - 1] if "=" in words[1:] else words[0]
    meant = "=" in words[1:] or (len(words) > 1 and name.isupper() and _is_value(words[1]))
    if not meant or find_tag(name) is None:
        return None
    remedy = f"Write {name.upper()} = … on a line of its own."
    message = f"this text is no statement and is not read: {_shown(note.text)}"
    return Problem("warning", file, note.line, message, remedy=remedy)


def _is_value(word: str) -> bool:
    return is_number(word) or word.strip(".").upper() in ("T", "F", "TRUE", "FALSE")


def _opens(text: str) -> bool:
    """Whether brackets are open at its end: what follows behind a semicolon belongs to a remark."""
    return text.count("(") > text.count(")")


def judge(incar: Incar) -> tuple[Problem, ...]:
    """What eigenwerk makes of the tags: errors for refused ones, notes and warnings for ignored ones.

    Honoured tags give nothing, unless their value is read in a way worth a sentence.
    """
    verdicts = [_verdict(incar, TAGS[name], value) for name, value in incar.values.items() if name in TAGS]
    found = [verdict for verdict in verdicts if verdict is not None]
    # what a refused tag needs is not worth words of its own
    refused = {verdict.tag for verdict in found if verdict.severity == "error"}
    return tuple(verdict for verdict in found if verdict.severity == "error" or not _belongs_to(verdict, refused))


def _belongs_to(verdict: Problem, tags: set[str]) -> bool:
    match = _ONLY_WITH.search(verdict.message)
    return match is not None and not tags.isdisjoint(re.findall(r"[A-Z_]{3,}", match[1]))


def _verdict(incar: Incar, tag: Tag, value: object) -> Problem | None:
    choice = tag.choice(value) or TagValue(value)
    status = choice.status or tag.status
    note = choice.note or tag.note
    if any(same_value(value, off_value) for off_value in tag.off_values):
        return None
    if tag.name in _STEERING and not _is_dynamics(incar):
        status, note = "inert", "it acts only in molecular dynamics (IBRION = 0)"
    if tag.name == "NSW" and incar.values.get("IBRION") == -1 and value not in (0, -1):
        status, note = "inert", "with IBRION = -1 the ions do not move"
    if status == "refused":
        return incar.problem(tag.name, note, choice.remedy or tag.remedy)
    if status == "inert":
        return incar.problem(tag.name, f"accepted and ignored: {note}", severity=choice.severity)
    return incar.problem(tag.name, choice.note, severity=choice.severity) if choice.note else None


def _is_dynamics(incar: Incar) -> bool:
    """Whether atoms move by themselves: NSW above 0, and no IBRION but 0."""
    steps, others = incar.values.get("NSW", 0), incar.broken("IBRION") or incar.values.get("IMAGES")
    return isinstance(steps, int) and steps > 0 and not others and incar.values.get("IBRION", 0) == 0
