"""What moves atoms and what says how they are pushed: an arrangement, and what a surface answers for it.

Units here and in the whole room: eV, Å, amu, fs, eV/Å, eV/Å³, K; arrays of numpy in double precision.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

Operations = tuple[int, ...] | None
"""Numbers of some symmetry operations of a start; None for all."""


@dataclass(frozen=True, eq=False)
class Arrangement:
    """Where the atoms are: lattice vectors as rows (3, 3), Å, and positions in them (a, 3), not folded into the cell.

    force_error: the largest error of forces, eV/Å, that whoever asks can use; None for the one of the run's settings.
    operation_x: numbers of the start's symmetry operations that hold here too, the identity among them; None for all.
    A surface that uses symmetry goes on with these, and with the k-points that they need; grids and basis stay.
    """

    lattice_cv: np.ndarray
    scaled_ac: np.ndarray
    force_error: float | None = None
    operation_x: Operations = None

    @cached_property
    def position_av(self) -> np.ndarray:
        """Cartesian, (a, 3), Å."""
        return self.scaled_ac @ self.lattice_cv

    @cached_property
    def volume(self) -> float:
        """Of the cell, Å³."""
        return abs(float(np.linalg.det(self.lattice_cv)))


@dataclass(frozen=True, eq=False)
class SurfacePoint:
    """The answer of an energy surface at one arrangement.

    free_energy: eV, of which forces_av (a, 3), eV/Å, are minus the derivatives; stress_vv: (3, 3), eV/Å³, the
    derivative by the strain over the volume, positive where the cell wants to shrink; None if not computed.
    force_error: estimate of the largest error of a force, eV/Å.  converged: False where the numbers mean little.
    pulay: what the pressure of stress_vv has too much of for being that of fixed plane waves, eV/Å³, negative; None
    where nobody has found out.
    """

    arrangement: Arrangement
    free_energy: float
    forces_av: np.ndarray
    stress_vv: np.ndarray | None = None
    force_error: float = 0.0
    converged: bool = True
    pulay: float | None = None


Surface = Callable[[Arrangement], SurfacePoint]
"""An energy surface: a density-functional calculation, or a formula in a test."""
