"""The analyses of a state: a new one is its file and a name here."""

from eigenwerk.dft.after.analysis import AfterScene
from eigenwerk.dft.after.fields.charged_cell import CHARGED_CELL
from eigenwerk.dft.after.fields.core_potentials import CORE_POTENTIALS
from eigenwerk.dft.after.fields.vacuum import VACUUM_LEVELS
from eigenwerk.io.quantity import Values

ANALYSES = (VACUUM_LEVELS, CHARGED_CELL, CORE_POTENTIALS)

NOTHING = Values({quantity: None for analysis in ANALYSES for quantity in analysis.gives})
"""Before any was made, and where there is no time for them."""


def analysed(scene: AfterScene) -> Values:
    """What all of them give."""
    return Values({
        quantity: value for analysis in ANALYSES
        for quantity, value in zip(analysis.gives, analysis.compute(scene), strict=True)
    })  # fmt: skip
