"""What every ground state has: forces, stress, moments, with their units in files (no torch here)."""

from collections.abc import Mapping
from typing import Any

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


def ground_values(found: Mapping[str, Any]) -> Values:
    """Those of `GROUND` among values by their names, in hartree and bohr; the fields of a `GroundState`, say."""
    return Values({quantity: found.get(quantity.name) for quantity in GROUND})
