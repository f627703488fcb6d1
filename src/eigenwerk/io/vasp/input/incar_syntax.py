"""From the text of an INCAR file to statements `tag = text`, without looking at types.

Syntax (VASP wiki, page INCAR): statements end at the end of a line or at ';'.  A backslash at the
end of a line continues it.  '#' and '!' start comments.  A value that begins with '"' runs to the
next '"', over line ends too.  `NAME { … }` puts `NAME/` before the names inside.  Text that is no
`tag = values` statement is skipped; what was skipped is recorded.
"""

import re
from dataclasses import dataclass, field

from eigenwerk.io.vasp.problem import Problem

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(/[A-Za-z_][A-Za-z0-9_]*)*")
_PLAIN = re.compile(r'[^#!\\";\n{}]+')
_CONTINUATION = re.compile(r"\\[ \t]*([#!][^\n]*)?(\n|$)")

_DEEPEST, _LONGEST_NAME, _NAME_PARTS = 20, 200, 20
"""Blocks inside each other; characters of the name of a block; parts of a piece (plain text and single special
characters) that can be such a name."""


@dataclass(frozen=True)
class Statement:
    """`name = text` with the line on which it begins; name in upper case, with its nesting."""

    name: str
    text: str
    line: int


@dataclass(frozen=True)
class Skipped:
    """Text that is no statement, with its line."""

    text: str
    line: int


@dataclass
class _Scanner:
    """Where the scan stands: the parts of the piece being collected, the line, the open blocks."""

    text: str
    file: str
    position: int = 0
    line: int = 1
    parts: list[str] = field(default_factory=list)
    piece_line: int = 1
    open_braces: int = 0
    blocks: list[tuple[str, int]] = field(default_factory=list)
    statements: list[Statement] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def before(self) -> str:
        """The last characters of the piece."""
        return "".join(self.parts[-_NAME_PARTS:])[-_LONGEST_NAME:]

    def name(self) -> str:
        """The piece, if it is a name, else nothing."""
        piece = "".join(self.parts).strip() if len(self.parts) <= _NAME_PARTS else ""
        return piece.upper() if len(piece) <= _LONGEST_NAME and _NAME.fullmatch(piece) else ""


def scan(text: str, file: str) -> tuple[list[Statement], list[Skipped], list[Problem]]:
    """Split the text of an INCAR file; returns statements, skipped text and syntax errors, in file order."""
    scanner = _Scanner(text.replace("\r\n", "\n").replace("\r", "\n"), file)
    while scanner.position < len(scanner.text):
        _step(scanner)
    _end_piece(scanner)
    for name, line in scanner.blocks:
        scanner.problems.append(
            Problem("error", file, line, f"the block {name} {{ is never closed", remedy="Add a closing brace }.")
        )
    return scanner.statements, scanner.skipped, scanner.problems


def _step(scanner: _Scanner) -> None:
    """Consume a run of plain text, or one comment, continuation, quotation or special character."""
    if match := _PLAIN.match(scanner.text, scanner.position):
        _take(scanner, match[0], match.end())
        return
    character = scanner.text[scanner.position]
    if character in "#!":
        end = scanner.text.find("\n", scanner.position)
        scanner.position = len(scanner.text) if end < 0 else end
    elif character == "\\" and (match := _CONTINUATION.match(scanner.text, scanner.position)):
        _take(scanner, " ", match.end())
    elif character == '"' and scanner.before().rstrip().endswith("="):
        _quotation(scanner)
    elif character in ";\n":
        _end_piece(scanner)
        _skip_to(scanner, scanner.position + 1)
    elif character == "{" and len(scanner.blocks) < _DEEPEST and (name := scanner.name()):
        scanner.blocks.append((name, scanner.piece_line))
        scanner.parts, scanner.open_braces = [], 0
        _skip_to(scanner, scanner.position + 1)
    elif character == "}" and scanner.blocks and scanner.open_braces <= 0:
        _end_piece(scanner)
        scanner.blocks.pop()
        _skip_to(scanner, scanner.position + 1)
    else:
        scanner.open_braces += {"{": 1, "}": -1}.get(character, 0)
        _take(scanner, character, scanner.position + 1)


def _take(scanner: _Scanner, text: str, end: int) -> None:
    """Add text to the piece, without blanks at its beginning, and move on to position `end`."""
    if not scanner.parts:
        scanner.piece_line = scanner.line
        text = text.lstrip()
    if text:
        scanner.parts.append(text)
    _skip_to(scanner, end)


def _skip_to(scanner: _Scanner, end: int) -> None:
    scanner.line += scanner.text.count("\n", scanner.position, end)
    scanner.position = end


def _quotation(scanner: _Scanner) -> None:
    """Take everything up to the closing quotation mark; complain and take the mark itself without one."""
    end = scanner.text.find('"', scanner.position + 1)
    if end < 0:
        message = 'the quotation mark " is never closed'
        scanner.problems.append(
            Problem("error", scanner.file, scanner.line, message, remedy='Add a closing " or remove this one.')
        )
        _skip_to(scanner, scanner.position + 1)
    else:
        _take(scanner, scanner.text[scanner.position + 1 : end], end + 1)


def _end_piece(scanner: _Scanner) -> None:
    """Turn the collected piece into a statement or into skipped text."""
    piece = "".join(scanner.parts)
    name, equals, text = piece.partition("=")
    prefix = "".join(f"{block}/" for block, _ in scanner.blocks)
    if equals and _NAME.fullmatch(name.strip()):
        scanner.statements.append(Statement(prefix + name.strip().upper(), text.strip(), scanner.piece_line))
    elif piece.strip():
        scanner.skipped.append(Skipped(piece.strip(), scanner.piece_line))
    scanner.parts, scanner.open_braces = [], 0
