"""The numbers of the results: of every ground state, and of analyses (a new one is its file and a name here)."""

from collections.abc import Mapping
from typing import Any

from eigenwerk.dft.after.analysis import AfterScene
from eigenwerk.dft.after.fields.charged_cell import CHARGED_CELL
from eigenwerk.dft.after.fields.core_potentials import CORE_POTENTIALS
from eigenwerk.dft.after.fields.vacuum import VACUUM_LEVELS
from eigenwerk.io.quantity import Quantity, Values
from eigenwerk.units import FORCE_EV_PER_ANGSTROM, STRESS_KILOBAR

OF_IONIC_STEPS = (
    Quantity("forces_av", "eV/Å", FORCE_EV_PER_ANGSTROM, "av"),
    Quantity("force_error", "eV/Å", FORCE_EV_PER_ANGSTROM),
    Quantity("stress_vv", "kB", -STRESS_KILOBAR, "vv"),
    Quantity("pulay", "kB", STRESS_KILOBAR),
    Quantity("moment_a", "μB", axes="a"),
)
"""Those that are told of every arrangement of the ions; stress in files is positive where a cell wants to expand."""

GROUND = (*OF_IONIC_STEPS, Quantity("correction_av", "eV/Å", FORCE_EV_PER_ANGSTROM, "av"))

ANALYSES = (VACUUM_LEVELS, CHARGED_CELL, CORE_POTENTIALS)

NOTHING = Values({quantity: None for analysis in ANALYSES for quantity in analysis.gives})
"""Before any was made, and where there is no time for them."""


def ground_values(found: Mapping[str, Any]) -> Values:
    """Those of `GROUND` among values by their names, in hartree and bohr; the fields of a `GroundState`, say."""
    return Values({quantity: found.get(quantity.name) for quantity in GROUND})


def analysed(scene: AfterScene) -> Values:
    """What all of them give."""
    return Values({
        quantity: value for analysis in ANALYSES
        for quantity, value in zip(analysis.gives, analysis.compute(scene), strict=True)
    })  # fmt: skip
