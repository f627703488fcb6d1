"""The analyses of a finished state: all that the files of this folder declare, each an `ANALYSIS`."""

from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from eigenwerk.dft.after.analysis import AfterScene, Analysis
from eigenwerk.io.quantity import Values


def _declared() -> list[Analysis]:
    names = sorted({file.name for file in iter_modules([str(Path(__file__).parent)])} - {"table"})
    return [import_module(f"eigenwerk.dft.after.analyses.{name}").ANALYSIS for name in names]


ANALYSES: tuple[Analysis, ...] = tuple(sorted(_declared(), key=lambda analysis: analysis.place))

NOTHING = Values({quantity: None for analysis in ANALYSES for quantity in analysis.gives})
"""Before any was made, and where there is no time for them."""


def analysed(scene: AfterScene) -> Values:
    """What all of them give."""
    return Values({
        quantity: value for analysis in ANALYSES
        for quantity, value in zip(analysis.gives, analysis.compute(scene), strict=True)
    })  # fmt: skip
