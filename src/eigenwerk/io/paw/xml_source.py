"""An XML file whose readers name file and element in every complaint."""

import hashlib
import xml.etree.ElementTree as ET
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from eigenwerk.errors import InputError
from eigenwerk.io.bounded import MEGABYTE, read_bounded
from eigenwerk.io.bounded_xml import xml_text, xml_tree

LARGEST = 50 * MEGABYTE
"""Bytes of the text; the largest data sets of gpaw-data have 1.5 MB."""


class XmlSource:
    """The parsed tree of one XML file, gzipped or not (told by its first bytes), and its checksums.

    title: what the file is, first words of every message ("PAW data set"); remedy: last words of every message.
    md5, sha256: of the unzipped text.  Raises InputError if the file cannot be read or is no whole XML.
    """

    def __init__(self, path: Path, title: str, remedy: str) -> None:
        self.path, self.title, self.remedy = path, title, remedy
        self.about = ""
        text = self._bytes()
        self.md5 = hashlib.md5(text, usedforsecurity=False).hexdigest()
        self.sha256 = hashlib.sha256(text).hexdigest()
        try:
            self.root = xml_tree(text)
        except (ET.ParseError, ValueError, LookupError) as error:
            raise self.wrong(f"the XML is damaged or cut off ({error})") from None

    def _bytes(self) -> bytes:
        try:
            data = read_bounded(self.path, LARGEST)
        except InputError as error:
            raise self.wrong(f"it cannot be read ({error})") from None
        try:
            return xml_text(data, LARGEST)
        except (EOFError, zlib.error) as error:
            raise self.wrong(f"the gzip file is damaged or cut off ({error})") from None
        except OverflowError as error:
            raise self.wrong(f"the gzip file holds {error}, which no such file has") from None

    def wrong(self, what: str) -> InputError:
        """The error to raise: title, path, `about` (set by the caller once known), what is wrong, remedy."""
        return InputError(f"{self.title} {self.path}{self.about}: {what}. {self.remedy}")

    def element(self, tag: str) -> ET.Element:
        """The first element of this name below the root; raises InputError if there is none."""
        found = self.root.find(tag)
        if found is None:
            raise self.wrong(f"the element <{tag}> is missing")
        return found

    def attribute(self, element: ET.Element, key: str) -> str:
        """An attribute without spaces around it; raises InputError if it is missing."""
        value = element.get(key)
        if value is None:
            raise self.wrong(f'the attribute {key}="..." of <{element.tag}> is missing')
        return value.strip()

    def number(self, element: ET.Element, key: str) -> float:
        """An attribute as a finite number; raises InputError if it is none."""
        text = self.attribute(element, key)
        try:
            value = float(text)
        except ValueError:
            raise self.wrong(f'{key}="{text}" of <{element.tag}> is not a number') from None
        if not np.isfinite(value):
            raise self.wrong(f'{key}="{text}" of <{element.tag}> is not finite')
        return value

    def number_within(self, element: ET.Element, key: str, least: float, most: float) -> float:
        """An attribute as a number within bounds; raises InputError if it lies outside."""
        value = self.number(element, key)
        if not least <= value <= most:
            raise self.wrong(f'{key}="{value:g}" of <{element.tag}> is not between {least:g} and {most:g}')
        return value

    def integer(self, element: ET.Element, key: str) -> int:
        """An attribute as a whole number; raises InputError if it is none."""
        value = self.number(element, key)
        if value != int(value):
            raise self.wrong(f'{key}="{value}" of <{element.tag}> is not a whole number')
        return int(value)

    def numbers(self, element: ET.Element, count: int | None) -> NDArray[np.float64]:
        """The text of an element as floats; `count` numbers, if given."""
        try:
            value_x = np.array((element.text or "").split(), dtype=float)
        except ValueError as error:
            raise self.wrong(f"{label(element)} holds something that is not a number ({error})") from None
        if count is not None and value_x.size != count:
            raise self.wrong(f"{label(element)} holds {value_x.size} numbers instead of {count}")
        if not np.isfinite(value_x).all():
            raise self.wrong(f"{label(element)} holds infinite or undefined numbers")
        return value_x


def label(element: ET.Element) -> str:
    """An element as messages call it: <tag>, or <tag state="...">."""
    state = element.get("state")
    return f"<{element.tag}>" if state is None else f'<{element.tag} state="{state.strip()}">'
