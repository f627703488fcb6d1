"""The Pulay stress from energies at two cutoffs: what the stress at fixed waves has too much of."""

from dataclasses import replace

import numpy as np
import pytest

from eigenwerk.dft.basis.grids import wave_excess
from eigenwerk.dft.runs.motion.two_cutoffs import pulay_of_energies

SETTINGS = {"cutoff_eV": 220.0, "mesh": (2, 2, 2), "real": True, "symmetry_level": 2}


@pytest.mark.slow
def test_stress_less_pulay_stress_is_the_slope_of_smooth_energies_at_constant_cutoff(calculation, crystal):
    lih = replace(crystal("lih_bent"), scaled_ac=np.array([[0.0, 0, 0], [0.5, 0.5, 0.5]]))
    calc = calculation(lih, **SETTINGS)
    calc = replace(calc, parameters=replace(calc.parameters, stress=True))
    ground = calc.run()
    pulay = pulay_of_energies(calc, ground)
    assert pulay is not None and pulay < 0
    volumes, free = [], []
    for scale in (0.98, 1.02):
        structure = replace(lih, lattice_cv=scale * lih.lattice_cv)
        other = calculation(structure, **SETTINGS)
        points, cutoff = other.kpoints, other.parameters.cutoff
        excess = wave_excess(structure, points.point_kc, points.weight_k, cutoff)
        volumes.append(structure.volume)
        free.append(other.run().state.energies.free - lih.volume * pulay * excess)
    slope = -np.diff(free)[0] / np.diff(volumes)[0]
    fixed = -float(np.trace(ground.stress_vv)) / 3
    assert abs(fixed - slope) > 5e-5, "without it they differ"
    assert fixed - pulay == pytest.approx(slope, abs=1.5e-5)  # 0.4 GPa; the half of it is curvature


@pytest.mark.slow
def test_none_where_a_calculation_does_not_converge(calculation, crystal):
    calc = calculation(crystal("lih_bent"), **SETTINGS)
    ground = calc.run()
    calc = replace(calc, parameters=replace(calc.parameters, max_steps=1))
    assert pulay_of_energies(calc, ground) is None
