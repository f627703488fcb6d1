"""The Pulay stress from energies at two cutoffs beside that of a calculation.

    p_Pulay = 1/Ω dE/dlnN

with N plane waves for each k-point.  Energies are nearly smooth functions of N, and not of E_cut, with which N jumps in
small cells.  Equations: docs/equations/stress.md.
"""

import numpy as np

from eigenwerk.dft.basis.grids import wave_excess
from eigenwerk.dft.calculation import Calculation, GroundState

SHARE = 0.04
"""Of E_cut, up and down: the waves change by as much as those of a cell whose volume changes by 6 %."""


def pulay_of_energies(calculation: Calculation, ground: GroundState) -> float | None:
    """p_Pulay in hartree per bohr³, negative; None if a calculation with another cutoff does not converge.

    calculation: on spheres of its cutoff, not on waves of another cell; ground: what it has found.
    """
    structure, kpoints, cutoff = calculation.structure, calculation.kpoints, calculation.parameters.cutoff
    free = [ground.state.energies.free]
    waves = [wave_excess(structure, kpoints.point_kc, kpoints.weight_k, cutoff)]
    for other in (cutoff * (1 - SHARE), cutoff * (1 + SHARE)):
        state = calculation.at_cutoff(other).run(start=ground.state).state
        if not state.converged:
            return None
        free.append(state.energies.free)
        excess = wave_excess(structure, kpoints.point_kc, kpoints.weight_k, other)
        waves.append(excess + 1.5 * np.log(other / cutoff))
    return float(np.polyfit(waves, free, 1)[0]) / structure.volume
