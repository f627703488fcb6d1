"""Which PAW file serves an element: enough to check a folder, and to judge what it costs."""

from dataclasses import dataclass
from pathlib import Path

from eigenwerk.io.paw_library import CutoffAdvice
from eigenwerk.io.paw_xml import PawHeader


@dataclass(frozen=True)
class DataSet:
    """The data set of one element: its file, all but its radial functions, and cutoffs in eV (None: no advice)."""

    symbol: str
    path: Path
    header: PawHeader
    advice: CutoffAdvice | None
