"""The stress is the strain derivative of the free energy at fixed plane waves, per volume."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from eigenwerk.dft.calculation import Made
from eigenwerk.dft.settings.dipole import DipoleCorrection
from eigenwerk.functionals.hybrid import Hybrid
from eigenwerk.functionals.non_local import NonLocal
from eigenwerk.units import BOHR_ANGSTROM, HARTREE_EV

GPA = HARTREE_EV / BOHR_ANGSTROM**3 * 160.2176634
STEP = 2e-4
LIMIT_GPA = 0.02

GAS_CORRELATION = Hybrid(0.0, 0.0, 1.0, 1.0, 0.0)
"""AGGAC = 0."""

CASES = {
    # crystal of tests/dft/conftest.py, settings
    "complex": ("sic_bent", {"mesh": (2, 1, 1)}),
    "real at Gamma, LDA": ("sic_bent", {"real": True, "functional": "PW92"}),
    "real by inversion": ("pairs", {"mesh": (1, 2, 1), "real": True, "symmetry_level": 2}),
    "metal": ("al_pair", {"mesh": (2, 1, 1), "ismear": 1, "sigma_eV": 0.3}),
    "magnet": ("fe_bent", {"spins": 2, "sigma_eV": 0.2}),
    "on the grid": (
        "sic_bent",
        {"precision": "Normal", "mesh": (1, 1, 2), "cutoff_eV": 200.0, "real_space": {"Si": 1e-3, "C": 1e-3}},
    ),
    "real on the grid": (
        "sic_bent", {"precision": "Normal", "real": True, "cutoff_eV": 200.0, "real_space": {"Si": 1e-3, "C": 1e-3}},
    ),
    "dipole": ("al_layers", {"mesh": (2, 1, 1), "dipole": DipoleCorrection((2,), (0.0, 0.0, 0.07), True)}),
    "hybrid, Gamma": ("sic_bent", {"real": True, "cutoff_eV": 90.0, "hybrid": Hybrid.of(0.25)}),
    "screened hybrid": ("sic_bent", {"mesh": (2, 1, 1), "cutoff_eV": 90.0, "hybrid": Hybrid.of(0.25, 0.11)}),
    "hybrid with spins": ("o2", {"spins": 2, "real": True, "hybrid": Hybrid.of(0.25)}),
    "hybrid, real by inversion": (
        "pairs", {"mesh": (1, 2, 1), "real": True, "symmetry_level": 2, "hybrid": Hybrid.of(0.25)},
    ),
    "with U": ("fe_bent", {"spins": 2, "sigma_eV": 0.2, "hubbard": {"Fe": (2, 0.1)}}),
    "van der Waals": (
        "sic_bent", {"real": True, "functional": "MK", "hybrid": GAS_CORRELATION, "non_local": NonLocal()},
    ),
    "van der Waals with spins": (
        "o2", {"spins": 2, "real": True, "functional": "ML", "hybrid": GAS_CORRELATION,
               "non_local": NonLocal(gradient=-1.8867, spin_resolved=True)},
    ),
    "rVV10": ("sic_bent", {"real": True, "functional": "ML", "non_local": NonLocal("rVV10")}),
}  # fmt: skip
SLOW = (
    "van der Waals with spins", "rVV10",
    "magnet", "dipole", "with U", "on the grid", "real by inversion", "screened hybrid", "hybrid with spins",
    "hybrid, real by inversion",
)  # fmt: skip


def strained(calc, strain_vv):
    """The same calculation on the same plane waves of another cell, with the same projectors of the grid."""
    lattice_cv = torch.tensor(calc.structure.lattice_cv @ (np.eye(3) + strain_vv).T)
    atoms = calc.atoms.strained(lattice_cv)
    return replace(calc, structure=atoms.basis.structure, made=Made(atoms))


@pytest.mark.fast("complex")
@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] if n in SLOW else []) for n in CASES])
def test_stress_is_the_derivative_of_the_free_energy(name, crystal, calculation):
    """Along a strain without any symmetry, or along that of the cell."""
    crystal_name, settings = CASES[name]
    calc = calculation(crystal(crystal_name), **settings)
    ground = calc.run()
    direction_vv = np.random.default_rng(4).uniform(-1, 1, (3, 3))
    direction_vv = (direction_vv + direction_vv.T) / 2
    free = []
    for sign in (1, -1):
        found = strained(calc, sign * STEP * direction_vv).run(start=ground.state).state
        assert found.converged
        free.append(found.energies.free)
    difference = (free[0] - free[1]) / (2 * STEP) / calc.structure.volume
    along = float((ground.stress_vv * direction_vv).sum())
    assert abs(along - difference) * GPA < LIMIT_GPA
    assert abs(along) * GPA > 0.1


@pytest.mark.slow
@pytest.mark.parametrize(
    "more",
    [
        pytest.param({"functional": "PW92"}, id="LDA"),
        pytest.param({"hybrid": Hybrid.of(0.25, 0.11)}, id="HSE06", marks=pytest.mark.slow),
    ],
)
def test_symmetry_does_not_change_the_stress(more, crystal, calculation):
    """Irreducible k-points of a stretched crystal against the whole mesh without symmetry."""
    structure = crystal("si")
    structure = replace(structure, lattice_cv=structure.lattice_cv * [1.0, 1.0, 1.03])
    settings = {"cutoff_eV": 120.0, "mesh": (2, 2, 2), "ediff_eV": 1e-10, **more}
    few, all_points = (calculation(structure, symmetry_level=level, **settings) for level in (2, -1))
    assert len(few.kpoints.point_kc) < len(all_points.kpoints.point_kc)
    stress_vv = few.run().stress_vv
    np.testing.assert_allclose(stress_vv * GPA, all_points.run().stress_vv * GPA, atol=1e-4)
    assert abs(stress_vv[0, 0] - stress_vv[2, 2]) * GPA > 1.0
    np.testing.assert_allclose([stress_vv[0, 0], stress_vv[0, 1]], [stress_vv[1, 1], 0], atol=1e-12)


def test_no_stress_unless_it_is_wanted(crystal, calculation):
    assert calculation(crystal("lih_bent"), stress=False).run().stress_vv is None
