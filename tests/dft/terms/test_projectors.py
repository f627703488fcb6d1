"""Forces through the projectors: occupancies and overlap follow the atoms."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from eigenwerk.dft.hamiltonian.wavefunctions import random_orbitals
from eigenwerk.dft.paw.one_centre import projections
from eigenwerk.dft.terms.projectors import projector_forces

CASES = {
    # name: crystal, settings
    "complex": ("sic_bent", {"mesh": (1, 1, 3)}),
    "real": ("lih_bent", {"mesh": (1, 1, 2), "real": True}),
    "magnet": ("fe_bent", {"spins": 2}),
    "grid": ("al_pair", {"mesh": (3, 1, 1), "real_space": {"Al": 1e-3}}),
    "grid, real": ("al_pair", {"mesh": (2, 1, 1), "real": True, "real_space": {"Al": 1e-3}}),
}


def pencil_energy(calc, dH_sx, coeff_sknG, eig_skn, filling_skn):
    """Σ f <P| ΔH - e ΔS |P> at fixed orbitals."""
    atoms, total = calc.atoms, 0.0
    for dH_x, coeff_knG, eig_kn, filling_kn in zip(dH_sx, coeff_sknG, eig_skn, filling_skn, strict=True):
        proj_knI = projections(coeff_knG, atoms.projector_kIG)
        for species in atoms.layout.species:
            dH_aij, dS_aij = (atoms.layout.blocks(flat_x, species) for flat_x in (dH_x, atoms.overlap_x))
            proj_kani = proj_knI[..., atoms.layout.columns(species, proj_knI.device)].movedim(2, 1)
            for matrix_aij, weight_kn in ((dH_aij, filling_kn), (-dS_aij, filling_kn * eig_kn)):
                square_kan = (proj_kani.conj() * (proj_kani @ matrix_aij.to(proj_kani.dtype))).sum(-1).real
                total += float((square_kan * weight_kn[:, None]).sum())
    return total


@pytest.mark.fast("complex", "real")
@pytest.mark.parametrize("case", CASES)
def test_forces_are_the_derivative_at_fixed_orbitals(calculation, crystal, disturbed, case):
    name, settings = CASES[case]
    structure = crystal(name)
    calc = calculation(structure, cutoff_eV=120.0, **settings)
    spins, grids = calc.parameters.spins, {"wave_grid": calc.basis.grids.wave, "fine_grid": calc.basis.grids.fine}
    dH_sx = calc.builder(disturbed(calc.atoms, spins, calc.parameters.electrons)).dH_sx
    coeff_sknG = torch.stack([(1 + s) * random_orbitals(calc.atoms, 5) for s in range(spins)])
    draw = torch.Generator().manual_seed(1)
    eig_skn, filling_skn = torch.rand((2, *coeff_sknG.shape[:3]), generator=draw, dtype=torch.float64)
    filling_skn[..., 3] = 0
    force_av = projector_forces(calc.atoms, dH_sx, coeff_sknG, eig_skn, filling_skn)
    for a, v in [(0, 0), (1, 2)]:
        energies, step = [], 2e-4
        for sign in (1, -1):
            position_av = structure.positions_av.copy()
            position_av[a, v] += sign * step
            moved = replace(structure, scaled_ac=position_av @ np.linalg.inv(structure.lattice_cv))
            there = calculation(moved, cutoff_eV=120.0, **settings, **grids)
            energies.append(pencil_energy(there, dH_sx, coeff_sknG, eig_skn, filling_skn))
        difference = (energies[1] - energies[0]) / (2 * step)
        assert abs(difference) > 1e-3
        assert float(force_av[a, v]) == pytest.approx(difference, rel=1e-5)
