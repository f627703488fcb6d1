"""XML files as trees that are no larger than files of their kind, whatever a few bytes claim.

Of two ways to blow a file up, gzip is bounded by how many times larger the text may be than the file; entities, which
stand for text that holds entities, are not expanded at all: no file of this field declares any.
"""

import xml.etree.ElementTree as ET
from collections.abc import Collection
from io import BytesIO
from xml.parsers import expat

from eigenwerk.io.bounded import MEGABYTE, gunzipped

MOST_EXPANDED = 100
"""How many times larger the text may be than a gzipped file: vasprun.xml shrinks to a tenth, rarely to a thirtieth."""

ALWAYS_EXPANDED = 32 * MEGABYTE
"""Bytes of text that any gzipped file may hold."""

LEAST_BYTES, FEW = 16, 100_000
"""Of the text for each element and attribute that is kept, beyond a few: true ones have twice as many and more."""

DEEPEST = 100
"""Elements in each other; vasprun.xml has twelve."""


class _Begun(Exception):
    """The first element: entities cannot be declared any more."""


def xml_text(data: bytes, largest: int) -> bytes:
    """The text of a file, gzipped or not.

    Raises zlib.error or EOFError if that is damaged, OverflowError if it is larger than `largest`, or too many times
    larger than the file.
    """
    if data[:2] != b"\x1f\x8b":
        return data
    return gunzipped(data, min(largest, max(ALWAYS_EXPANDED, MOST_EXPANDED * len(data))))


def xml_tree(text: bytes, passed_over: Collection[str] = ()) -> ET.Element:
    """The tree, without what is inside elements of the names in `passed_over`.

    Raises ET.ParseError for what is no XML, ValueError for entities, and for more or deeper elements than such a file
    has; LookupError for encodings that do not exist.
    """
    _refuse_entities(text)
    most, count, depth, inside = FEW + len(text) // LEAST_BYTES, 0, 0, 0
    root = None
    for event, element in ET.iterparse(BytesIO(text), events=("start", "end")):
        if root is None:
            root = element
        if event == "start":
            depth += 1
            inside += element.tag in passed_over
            count += 0 if inside else 1 + len(element.attrib)
            if count > most:
                raise ValueError(f"more than {most} elements and attributes in {len(text)} bytes")
            if depth > DEEPEST:
                raise ValueError(f"more than {DEEPEST} elements in each other")
        else:
            depth -= 1
            if inside:
                element.clear()
            inside -= element.tag in passed_over
    if root is None:
        raise ValueError("there is no element")
    return root


def _refuse_entities(text: bytes) -> None:
    """Raise ValueError for a file that declares entities, which stand before its first element."""
    parser = expat.ParserCreate()

    def declared(name: str, *rest: object) -> None:
        raise ValueError(f"it declares the entity {name[:40]!r}, which no such file needs")

    def begun(name: str, attributes: object) -> None:
        raise _Begun

    parser.EntityDeclHandler = declared
    parser.StartElementHandler = begun
    try:
        parser.Parse(text[: 64 * 1024], False)
        parser.Parse(text[64 * 1024 :], True)
    except (_Begun, expat.ExpatError):  # what is damaged is told by the parser that makes the tree
        return
