"""The kinetic-energy density: of orbitals and atoms, what its derivative does to both, and that it travels."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from eigenwerk.dft.basis.plane_wave_basis import PlaneWaveBasis
from eigenwerk.dft.density.density import density_of, superposed_atoms
from eigenwerk.dft.density.fields import Fields
from eigenwerk.dft.density.kinds.kind import FilledOrbitals
from eigenwerk.dft.density.kinds.table import ALWAYS, WAVES
from eigenwerk.dft.hamiltonian.hamiltonian import Hamiltonian
from eigenwerk.dft.hamiltonian.single_precision import SingleTables, lowered
from eigenwerk.dft.scf.bands import density_of_bands, first_orbitals
from eigenwerk.dft.scf.start.state_history import StateHistory
from eigenwerk.dft.terms.potential import Potential
from eigenwerk.functionals.functional import DENSITY, TAU
from eigenwerk.motion.prediction import FIT

TAU_KIND = WAVES[TAU]
FIELDS = (*ALWAYS, TAU)

FORMS = {
    "complex": {"system": "sic_bent", "mesh": (1, 1, 1), "shift": (0.3, 0.1, 0.0)},
    "real": {"system": "sic_bent"},
    "inversion": {"system": "si", "mesh": (2, 1, 1), "shift": (0.3, 0.0, 0.0), "symmetry_level": 2},
    "spins": {"system": "fe_bent", "spins": 2, "cutoff_eV": 60.0},
}


ON_GRID = {"system": "sic_bent", "precision": "Normal", "cutoff_eV": 150.0, "real_space": {"Si": 1e-3, "C": 1e-3}}


def made(calculation, crystal, name):
    settings = {"cutoff_eV": 70.0, **{**FORMS, "on the grid": ON_GRID}[name]}
    return calculation(crystal(settings.pop("system")), **settings)


def orbitals_of(calc):
    """Sensible orbitals with fillings of all kinds."""
    coeff_sknG = first_orbitals(calc.atoms, calc.builder(calc.starting_density()), 6)
    draw = torch.Generator().manual_seed(4)
    filling_skn = torch.rand(coeff_sknG.shape[:3], generator=draw, dtype=torch.float64)
    return coeff_sknG, filling_skn


def some_field(basis: PlaneWaveBasis, components: int) -> torch.Tensor:
    """A real potential of long waves, with the symmetry that a basis by inversion asks for."""
    draw, index_gc = torch.Generator().manual_seed(7), basis.index_gc[: basis.density_count]
    value_sg = torch.randn((components, len(index_gc)), generator=draw, dtype=torch.complex128)
    value_sg *= torch.exp(-0.5 * basis.norm2_g[: basis.density_count])
    value_sg[:, 0] = value_sg[:, 0].real + 0j
    return value_sg


@pytest.mark.parametrize("name", FORMS)
def test_it_is_that_of_the_laplacian_but_for_a_divergence(calculation, crystal, name):
    """∫ τ = Σ f <T>, and τ = Σ f Re ψ* T ψ + ∇²n/4 at every point."""
    calc = made(calculation, crystal, name)
    basis, (coeff_sknG, filling_skn) = calc.basis, orbitals_of(calc)
    found = density_of_bands(calc.atoms, coeff_sknG, filling_skn, fields=FIELDS)
    tau_sg = found.value[TAU]
    square_skn = (coeff_sknG.abs() ** 2 * basis.kinetic_kG[None, :, None]).sum(-1)
    whole = float((filling_skn * square_skn).sum())
    assert float(basis.volume * tau_sg[:, 0].real.sum()) == pytest.approx(whole, rel=1e-12)
    # the squares of ψ + T ψ and of ψ - T ψ differ by 4 Re ψ* T ψ
    orbitals = FilledOrbitals.of(calc.atoms, coeff_sknG, filling_skn)
    image_sknG = coeff_sknG * basis.kinetic_kG[None, :, None]
    both = [
        density_of(replace(orbitals, coeff_sknG=coeff_sknG + sign * image_sknG), (DENSITY,)).density_sg
        for sign in (1, -1)
    ]
    expected_sg = (both[0] - both[1]) / 4 - basis.norm2_g[: basis.density_count] * found.density_sg / 4
    torch.testing.assert_close(tau_sg, expected_sg, rtol=0, atol=1e-12 * float(tau_sg.abs().max()) + 1e-14)


@pytest.mark.parametrize("name", [*FORMS, "on the grid"])
def test_its_derivative_acts_on_orbitals_as_the_integral_says(calculation, crystal, name):
    """Σ f <ψ|H_τ|ψ> = ∫ v_τ τ, H_τ what the Hamiltonian of a potential with v_τ has besides; and H_τ is Hermitian."""
    calc = made(calculation, crystal, name)
    basis, (coeff_sknG, filling_skn) = calc.basis, orbitals_of(calc)
    potential = calc.builder(calc.starting_density())
    v_sg = some_field(basis, basis.spin.components)
    if basis.inversion is not None:
        v_sg = calc.symmetrise(Fields({TAU: v_sg}, basis.spin)).value[TAU]
    felt = replace(potential, derivative=replace(
        potential.derivative, value={**potential.derivative.value, TAU: v_sg}
    ))  # fmt: skip
    assert isinstance(felt, Potential)
    plain, more = Hamiltonian.of(calc.atoms, potential), Hamiltonian.of(calc.atoms, felt)
    single, total = SingleTables.of(calc.atoms), 0.0
    for s, x_knG in enumerate(coeff_sknG):
        image_knG = more.block(s).apply(x_knG)[0] - plain.block(s).apply(x_knG)[0]
        torch.testing.assert_close(more.block(s).first(x_knG) - plain.block(s).first(x_knG), image_knG)
        one, two = (single.hamiltonian(twin).block(s).apply(lowered(x_knG))[0] for twin in (more, plain))
        largest = float(image_knG.abs().max())
        torch.testing.assert_close((one - two).to(x_knG.dtype), image_knG, rtol=0, atol=1e-4 * largest)
        product_knn = x_knG.conj() @ image_knG.mT
        torch.testing.assert_close(product_knn, product_knn.mH, rtol=0, atol=1e-12 * float(product_knn.abs().max()))
        total += float((filling_skn[s] * product_knn.diagonal(dim1=1, dim2=2).real).sum())
    tau_sg = density_of_bands(calc.atoms, coeff_sknG, filling_skn, fields=(TAU,)).value[TAU]
    assert total == pytest.approx(float(basis.inner(v_sg, tau_sg).sum()), rel=1e-11)
    assert abs(total) > 1e-4


@pytest.mark.parametrize("name", ["complex", "spins"])
def test_strain_turns_gradients(calculation, crystal, name):
    """∂/∂ε of Ω ∫ v τ/Ω at fixed coefficients of orbitals, against differences of strained cells."""
    calc = made(calculation, crystal, name)
    basis, (coeff_sknG, filling_skn) = calc.basis, orbitals_of(calc)
    v_sg = some_field(basis, basis.spin.components)
    orbitals = FilledOrbitals.of(calc.atoms, coeff_sknG, filling_skn)
    found_vv = TAU_KIND.strained(orbitals, v_sg)
    lattice_cv = basis.structure.lattice_cv

    def integral(v, w, size):
        strain_vv = np.eye(3)
        strain_vv[v, w] += size
        other = calc.moved(replace(calc.structure, lattice_cv=lattice_cv @ strain_vv.T))
        tau_sg = density_of_bands(other.atoms, coeff_sknG, filling_skn, fields=(TAU,)).value[TAU]
        return float(other.basis.inner(v_sg, tau_sg).sum())

    for v, w in ((0, 0), (1, 2)):
        slope = (integral(v, w, 1e-4) - integral(v, w, -1e-4)) / 2e-4
        assert float(found_vv[v, w]) == pytest.approx(slope, rel=1e-6, abs=1e-8)


def test_that_of_an_atom_is_the_kinetic_energy_of_its_waves(calculation, crystal):
    """∫ τ of superposed atoms is Σ_j f_j ½ ∫ (u'² + l (l+1) u²/r²) dr with u = r φ̃."""
    calc = calculation(crystal("sic_bent"), cutoff_eV=150.0)
    found = superposed_atoms(calc.atoms, calc.basis.spin, fields=(TAU,)).value[TAU]
    expected = 0.0
    for species in calc.atoms.layout.species:
        data = species.setup.dataset
        r_g, weight_g = data.grid.r_g, data.grid.dr_g.copy()
        weight_g[0] /= 2  # u' does not vanish there
        for j, occupied in enumerate(species.setup.atom_occupancy_j):
            u_g, l = r_g * data.pseudo_partial_wave_jg[j], species.setup.l_j[j]
            slope_g, turning_g = np.gradient(u_g) / data.grid.dr_g, l * (l + 1) * data.pseudo_partial_wave_jg[j] ** 2
            expected += species.count * occupied * 0.5 * float((slope_g**2 + turning_g) @ weight_g)
    assert float(calc.basis.volume * found[0, 0].real) == pytest.approx(expected, rel=1e-3)


def test_it_travels_and_changes_nothing(calculation, crystal):
    """Mixed, symmetrised and moved with the atoms; the output's is that of the orbitals; the energy knows nothing."""
    settings = {"symmetry_level": 2, "cutoff_eV": 70.0, "ediff_eV": 1e-7}
    plain = calculation(crystal("si"), **settings)
    more = replace(calculation(crystal("si"), **settings), asked=frozenset({TAU}))
    one, two = plain.run().state, more.run().state
    assert set(one.output.value) == set(ALWAYS) and list(two.following.value) == list(FIELDS)
    assert len(one.history) == len(two.history)
    assert one.energies.free == pytest.approx(two.energies.free, abs=1e-13)
    torch.testing.assert_close(one.following.density_sg, two.following.density_sg, rtol=0, atol=1e-12)
    again = more.symmetrise(density_of_bands(more.atoms, two.coeff_sknG, two.filling_skn, fields=FIELDS))
    torch.testing.assert_close(two.output.value[TAU], again.value[TAU], rtol=0, atol=1e-13)
    apart = (two.following.value[TAU] - two.output.value[TAU]).abs().max() / two.output.value[TAU].abs().max()
    assert 0 < float(apart) < 1e-3
    assert "tau" not in more.builder(two.density).derivative.value


def test_a_start_gets_the_fields_that_are_asked_for(calculation, crystal):
    """From a state without it to a run with it, and back; a prediction takes states that have the same."""
    settings = {"symmetry_level": 2, "cutoff_eV": 70.0, "ediff_eV": 1e-5}
    plain = calculation(crystal("si"), **settings)
    more = replace(plain, asked=frozenset({TAU}))
    one = plain.run().state
    two = more.run(start=one).state
    three = plain.run(start=two).state
    assert list(two.following.value) == list(FIELDS) and list(three.following.value) == list(ALWAYS)
    assert len(two.history) < len(one.history) > len(three.history)
    assert two.energies.free == pytest.approx(one.energies.free, abs=1e-6)
    assert three.energies.free == pytest.approx(one.energies.free, abs=1e-6)
    history = StateHistory(FIT, plain.parameters.electrons)
    for state in (one, two):
        history.add(state, plain.atoms)
    assert len(history.kept) == 1 and list(history.predict(plain.atoms).density.value) == list(FIELDS)
