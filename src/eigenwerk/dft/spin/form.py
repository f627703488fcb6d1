"""The three ways to treat spin, which have the same verbs, and which of them an input asks for.

A density has components s: one, or n_↑ and n_↓, or n and m.  What is bilinear in orbitals, densities and occupancies
alike, has them first, (s, ...).  So has the derivative of an energy by it, the potential: δE = Σ_s ∫ v_s δn_s.
Nobody asks which way it is: all that depends on it is a verb or a number of these classes.
"""

import torch

from eigenwerk.dft.spin.collinear import Collinear
from eigenwerk.dft.spin.spinor import Spinor
from eigenwerk.dft.spin.unpolarised import Unpolarised

Spin = Unpolarised | Collinear | Spinor

UNPOLARISED, COLLINEAR, SPINOR = Unpolarised(), Collinear(), Spinor()

OF_ISPIN: dict[int, Spin] = {1: UNPOLARISED, 2: COLLINEAR}


def paired(value_sx: torch.Tensor, slope_sx: torch.Tensor) -> torch.Tensor:
    """Re Σ_s n*_s v_s, of a change of a density and the derivative by it: the same in all ways; (x)."""
    return (value_sx.conj() * slope_sx).real.sum(0)
