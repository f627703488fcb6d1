"""The energy of a state: its zeros, and that the Harris form is the Kohn-Sham energy of its own orbitals."""

import pytest
import torch

from eigenwerk.dft.hamiltonian.hamiltonian import Hamiltonian
from eigenwerk.dft.scf.bands import density_of_bands
from eigenwerk.dft.terms.energies import Energies, band_energy, energy_of_atoms, harris_energies
from eigenwerk.linalg.dense import dense_eigh
from eigenwerk.linalg.ritz import first_ritz


def test_zeros_of_the_energy():
    energies = Energies(
        band=-1.0, double_counting=-3.0, terms={"electrostatic": -20.0, "xc": -5.0}, entropy=-0.02, extrapolation=0.01,
        reference=-22.5,
    )  # fmt: skip
    assert energies.absolute_free == pytest.approx(-23.02)
    assert energies.free == pytest.approx(-0.52)
    assert energies.internal == pytest.approx(-0.50)
    assert energies.extrapolated == pytest.approx(-0.51)


def test_reference_is_the_sum_over_atoms(crystal, calculation, dataset):
    atoms = calculation(crystal("lih_bent"), cutoff_eV=60.0).atoms
    expected = dataset("Li").ae_energy.total + dataset("H").ae_energy.total
    assert energy_of_atoms(atoms) == pytest.approx(expected, rel=1e-14)
    pair = calculation(crystal("si"), cutoff_eV=60.0).atoms
    assert energy_of_atoms(pair) == pytest.approx(2 * dataset("Si").ae_energy.total, rel=1e-14)


def test_band_energy_counts_fillings():
    eig_skn = torch.tensor([[[-0.5, 0.1], [-0.4, 0.2]]], dtype=torch.float64)
    filling_skn = torch.tensor([[[1.0, 0.25], [1.0, 0.0]]], dtype=torch.float64)
    assert band_energy(eig_skn, filling_skn) == pytest.approx(-0.875)


@pytest.mark.parametrize(("name", "spins", "precision"), [("sic_bent", 1, "Accurate"), ("o2", 2, "Normal")])
def test_harris_energy_of_its_own_orbitals_is_the_kohn_sham_energy(crystal, calculation, name, spins, precision):
    """sum f <H> - integral v n - dH.D = kinetic energy of the orbitals, for any orthonormal orbitals.

    The density is that of the orbitals, so E = sum f <-laplacian/2> + E_H + E_xc + zero potential + dE(D), to rounding:
    also on grids that fold the outer waves of the density back, because the potential acts on the same grid.
    """
    calc = calculation(crystal(name), mesh=(2, 1, 1), cutoff_eV=60.0, spins=spins, precision=precision)
    atoms, basis, bands = calc.atoms, calc.basis, 8
    shape = (spins, len(basis.count_k), bands, basis.mask_kG.shape[1])
    noise_sknG = torch.randn(shape, generator=torch.Generator().manual_seed(1), dtype=torch.complex128)
    noise_sknG = noise_sknG * (basis.mask_kG / (1 + basis.kinetic_kG) ** 2)[:, None]
    start = calc.builder(calc.starting_density())
    coeff_sknG = torch.stack(
        [
            first_ritz(Hamiltonian.of(atoms, start).block(s), noise_knG, dense_eigh).images.x_knx
            for s, noise_knG in enumerate(noise_sknG)
        ]
    )  # fmt: skip
    occ_n = torch.tensor([1, 1, 1, 1, 0.9, 0.4, 0.0, 0.0], dtype=torch.float64)
    filling_skn = (2 / spins * basis.weight_k[:, None] * occ_n).expand(spins, -1, -1)
    density = density_of_bands(atoms, coeff_sknG, filling_skn)
    potential = calc.builder(density)
    mean_skn = torch.stack(
        [(coeff_sknG[s].conj() * Hamiltonian.of(atoms, potential).block(s).apply(coeff_sknG[s])[0]).sum(-1).real
         for s in range(spins)]
    )  # fmt: skip
    harris = harris_energies(atoms, density, potential, band_energy(mean_skn, filling_skn), -0.01, 0.005)
    kinetic = float((filling_skn * (coeff_sknG.abs() ** 2 * basis.kinetic_kG[:, None]).sum(-1)).sum())
    assert harris.absolute_free + 0.01 == pytest.approx(kinetic + potential.energy, abs=1e-9)
    assert kinetic > 1
    assert harris.extrapolated - harris.free == pytest.approx(0.005)
