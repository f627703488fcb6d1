"""The formats of PAW data sets: a new one is its reader and a row of `FORMATS`."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from eigenwerk.io.paw.dataset import PawDataset, PawHeader
from eigenwerk.io.paw.paw_xml import read_paw_header, read_paw_xml


@dataclass(frozen=True)
class Format:
    """name; suffixes of files that may be called anything that begins with the element (others are X.V.F: element,
    variant, functional); the readers of the whole and of all but radial functions."""

    name: str
    suffixes: tuple[str, ...]
    read: Callable[[Path], PawDataset]
    read_header: Callable[[Path], PawHeader]


FORMATS = (Format("PAW-XML", (".xml",), read_paw_xml, read_paw_header),)
"""The first is that of gpaw-data, whose files X.V.F have no suffix."""


def format_by_suffix(path: Path) -> Format | None:
    """The format that a name ends with, packed (.gz) or not; None for X.V.F."""
    name = path.name.removesuffix(".gz")
    return next((one for one in FORMATS if name.endswith(one.suffixes)), None)


def read_dataset(path: str | Path) -> PawDataset:
    """A whole data set; InputError naming file, fault and remedy if it is missing, damaged or incomplete."""
    path = Path(path)
    return (format_by_suffix(path) or FORMATS[0]).read(path)


def read_header(path: str | Path) -> PawHeader:
    """All but the radial functions; errors as `read_dataset`."""
    path = Path(path)
    return (format_by_suffix(path) or FORMATS[0]).read_header(path)
