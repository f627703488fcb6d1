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
_CONTINUATION = re.compile(r"\\[ \t]*([#!][^\n]*)?(\n|$)")


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
    """Where the scan stands: the piece being collected, the line, the open blocks."""

    text: str
    file: str
    position: int = 0
    line: int = 1
    piece: str = ""
    piece_line: int = 1
    blocks: list[tuple[str, int]] = field(default_factory=list)
    statements: list[Statement] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


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
    """Consume one character, or one comment, continuation or quotation."""
    character = scanner.text[scanner.position]
    if character in "#!":
        end = scanner.text.find("\n", scanner.position)
        scanner.position = len(scanner.text) if end < 0 else end
    elif character == "\\" and (match := _CONTINUATION.match(scanner.text, scanner.position)):
        _take(scanner, " ", match.end())
    elif character == '"' and re.search(r"=\s*$", scanner.piece):
        _quotation(scanner)
    elif character in ";\n":
        _end_piece(scanner)
        _skip_to(scanner, scanner.position + 1)
    elif character == "{" and _NAME.fullmatch(scanner.piece.strip()):
        scanner.blocks.append((scanner.piece.strip().upper(), scanner.piece_line))
        scanner.piece = ""
        _skip_to(scanner, scanner.position + 1)
    elif character == "}" and scanner.blocks and scanner.piece.count("{") <= scanner.piece.count("}"):
        _end_piece(scanner)
        scanner.blocks.pop()
        _skip_to(scanner, scanner.position + 1)
    else:
        _take(scanner, character, scanner.position + 1)


def _take(scanner: _Scanner, text: str, end: int) -> None:
    """Add text to the piece and move on to position `end`."""
    if not scanner.piece.strip():
        scanner.piece_line = scanner.line
    scanner.piece += text
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
    name, equals, text = scanner.piece.partition("=")
    prefix = "".join(f"{block}/" for block, _ in scanner.blocks)
    if equals and _NAME.fullmatch(name.strip()):
        scanner.statements.append(Statement(prefix + name.strip().upper(), text.strip(), scanner.piece_line))
    elif scanner.piece.strip():
        scanner.skipped.append(Skipped(scanner.piece.strip(), scanner.piece_line))
    scanner.piece = ""
