"""Exact exchange between orbitals: with a density's own Hartree energy, differences of the energy, and itself."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from eigenwerk.dft.crystal.downsampling import EVEN, ODD, Downsampling
from eigenwerk.dft.crystal.inversion import turns
from eigenwerk.dft.crystal.kpoints import explicit
from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.density.kinds.occupancy import band_occupancies
from eigenwerk.dft.density.kinds.valence import band_density
from eigenwerk.dft.exchange.kernel import ExchangeKernel, probe_charge_kernel
from eigenwerk.dft.exchange.operator import ExchangeOperator
from eigenwerk.dft.exchange.pairs.mesh_points import mesh_points
from eigenwerk.dft.exchange.pairs.pair_derivatives import exchange_derivatives
from eigenwerk.dft.exchange.pairs.pair_shape import PairShape
from eigenwerk.dft.paw.one_centre import projections
from eigenwerk.dft.paw.spherical import solid_harmonics
from eigenwerk.dft.terms.projectors import projector_forces
from eigenwerk.units import BOHR_ANGSTROM


def energy_of(case, coeff):
    """E_x of any orbitals."""
    image = case.operator.apply(case.operator.sources(coeff, case.occ), coeff)
    return case.operator.energy(coeff, image, case.filling)


def matrix(case):
    return case.coeff.conj() @ case.image.mT


def test_the_number_of_orbitals_at_a_time_changes_nothing(exchanging):
    """NBLOCK_FOCK."""
    for settings in ({}, {"real": True, "name": "lih_bent", "occupied": 2}):
        found = exchanging(**settings)
        for together in (1, 2, 3):
            operator = ExchangeOperator(found.calc.atoms, found.operator.kernel, 0.4, together=together)
            image = operator.apply(operator.sources(found.coeff, found.occ), found.coeff)
            torch.testing.assert_close(image, found.image, atol=1e-12, rtol=0)


@pytest.mark.slow
def test_exchange_of_one_orbital_with_itself_is_its_hartree_energy(exchanging):
    """By the density of the package, which knows nothing of pairs, and the charges by their transform."""
    plain = ExchangeKernel(0.0, 0.0, 0.0, "1/r")
    case = exchanging(occupied=1, bands=2, spins=2, kernel=plain, cutoff_eV=300.0)
    atoms, basis = case.calc.atoms, case.calc.basis
    coeff_knG, filling_kn = case.coeff[0, :, :1], case.filling[0, :, :1]
    proj_knI = projections(coeff_knG, atoms.projector_kIG)
    rho_g = basis.density_of_orbitals(band_density(basis, coeff_knG, filling_kn)[None])[0]
    occupancy_x = band_occupancies(atoms, proj_knI, filling_kn)
    vector_gv, scaled_ac = basis.lattice.waves(basis.index_gc[: len(rho_g)]), basis.structure.scaled_ac
    harmonic_gL = solid_harmonics(2, vector_gv)
    wave_g = vector_gv.norm(dim=-1).numpy()
    for species in atoms.layout.species:
        block_aij = atoms.layout.blocks(occupancy_x, species)
        shape = PairShape.of(species.setup, case.operator.grid.wave)
        form_lg = torch.as_tensor(np.array([shape.transform(l, wave_g) for l in range(3)]))
        charge_aL = torch.einsum("Lij,aij->aL", torch.as_tensor(species.setup.multipole_Lij), block_aij.real)
        for a, charge_L in zip(species.atom_a, charge_aL, strict=True):
            phase_g = torch.as_tensor(turns(basis.index_gc[: len(rho_g)].numpy(), -scaled_ac[a]))
            for l, factor in enumerate((1, -1j / 3, -1 / 15)):
                own = slice(l * l, (l + 1) ** 2)
                rho_g = rho_g + (harmonic_gL[:, own] @ charge_L[own]) * form_lg[l] * phase_g * (
                    4 * np.pi * factor / float(basis.volume)
                )
    inside_g = basis.norm2_g[: len(rho_g)] <= case.operator.pairs.radius**2
    weight_g = (basis.coulomb_g * basis.weight_g)[: len(rho_g)] * inside_g
    hartree = 0.5 * float(basis.volume) * float((weight_g * rho_g.abs().square()).sum())
    filling = torch.zeros_like(case.filling)
    filling[0, :, :1] = filling_kn
    assert case.operator.energy(case.coeff, case.image, filling) == pytest.approx(-0.4 * hartree, rel=2e-6)
    assert hartree > 1e-3


CASES = {
    "complex": {"mesh": (1, 1, 2), "symmetry_level": -1},
    # random changes have no symmetry: points that are their own images are left out
    "time reversal": {"mesh": (1, 1, 2), "shift": (0, 0, 0.5), "symmetry_level": 0},
    "real in space": {"name": "lih_bent", "occupied": 2, "mesh": (1, 1, 2), "real": True, "cutoff_eV": 150.0},
    "real by inversion, grid shifted": {
        "name": "pairs", "occupied": 11, "bands": 13, "mesh": (2, 1, 1), "shift": (0.5, 0, 0), "symmetry_level": 2,
        "real": True,
    },
    "every second q-point": {"mesh": (1, 1, 4), "symmetry_level": 0, "downsampling": Downsampling((1, 1, 2))},
    "two spins": {"name": "o2", "occupied": 6, "bands": 8, "spins": 2, "cutoff_eV": 150.0},
}  # fmt: skip


@pytest.fixture(scope="module", params=CASES)
def case(request, exchanging):
    return exchanging(**CASES[request.param])


@pytest.mark.fast("complex", "real in space")
def test_operator_is_hermitian_and_negative(case):
    m_sknn = matrix(case)
    assert float((m_sknn - m_sknn.mH).abs().max()) < 1e-13
    assert float(torch.linalg.eigvalsh(m_sknn).max()) < 0


def test_operator_is_the_derivative_of_the_energy(case):
    """By all orbitals at once, projections and compensation charges included."""
    draw = torch.Generator().manual_seed(3)
    noise = torch.randn(case.coeff.shape, generator=draw, dtype=case.coeff.dtype)
    # with V_x ψ in it no phase that orbitals happen to have makes the slope small
    change = (noise * case.coeff.abs().mean() + case.image) * case.calc.basis.mask_kG[:, None]
    step = 1e-4
    difference = (energy_of(case, case.coeff + step * change) - energy_of(case, case.coeff - step * change)) / step / 2
    slope = 2 * float(((change.conj() * case.image).real.sum(-1) * case.filling).sum())
    assert abs(slope) > 1e-4
    assert difference == pytest.approx(slope, rel=1e-6)


SAME = {
    "real in space": ({"name": "lih_bent", "occupied": 2, "mesh": (1, 1, 2)}, {"real": True}),
    "Gamma": ({}, {"real": True}),
    "rotations": ({"name": "si", "occupied": 4, "mesh": (2, 2, 2)}, {"symmetry_level": 2}),
    "even q-points": (
        {"name": "si", "occupied": 4, "mesh": (2, 2, 1), "downsampling": Downsampling((1, 1, 1), EVEN)},
        {"symmetry_level": 0},
    ),
    "every second q-point, rotations": (
        {"name": "si", "occupied": 4, "mesh": (4, 4, 1), "downsampling": Downsampling((2, 2, 1))},
        {"symmetry_level": 0, "real": True},
    ),
    "real by inversion, grid shifted": (
        {"name": "pairs", "occupied": 11, "bands": 13, "mesh": (3, 1, 1)}, {"symmetry_level": 2, "real": True},
    ),
}  # fmt: skip

SHIFTED = 2e-5
"""Compensation charges at the points of another grid: hartree, of 3.6."""


@pytest.mark.fast("Gamma", "even q-points")
@pytest.mark.parametrize("name", SAME)
def test_real_orbitals_and_reduced_meshes_give_what_complex_ones_of_whole_meshes_give(name, exchanging):
    settings, reduced = SAME[name]
    part = exchanging(**settings, **reduced)
    whole = exchanging(**settings, size=part.operator.grid.size_c)  # which symmetry may ask to be larger
    energies = [one.operator.energy(one.coeff, one.image, one.filling) for one in (whole, part)]
    shifted = "shifted" in name
    assert energies[1] == pytest.approx(energies[0], abs=SHIFTED if shifted else 2e-9)
    occupied = slice(0, settings.get("occupied", 3))
    full_of = part.calc.kpoints.irreducible_of_full
    for k, first in enumerate(full_of):
        levels = [
            torch.linalg.eigvalsh(matrix(one)[0, at][occupied, occupied]) for one, at in ((whole, k), (part, first))
        ]
        torch.testing.assert_close(levels[1], levels[0], atol=SHIFTED if shifted else 3e-8, rtol=0)


@pytest.mark.slow
def test_spins_that_an_operation_exchanges_are_in_one_another_s_stars(exchanging):
    """An antiferromagnet with a mirror that exchanges the spins, and a third atom that leaves no other operation."""
    cell_cv = np.array([[3.2, 0, 0], [0, 4.0, 0], [0.4, 0, 3.4]]) / BOHR_ANGSTROM
    scaled_ac = np.array([[0.1, 0.2, 0.3], [0.1, -0.2, 0.3], [0.6, 0.0, 0.8]])
    structure = Structure(cell_cv, ("H", "H", "He"), scaled_ac, (1.0, -1.0, 0.0))
    grids = {"wave_grid": (10, 14, 20), "fine_grid": (20, 28, 40)}
    settings = {"structure": structure, "occupied": 2, "bands": 3, "mesh": (3, 3, 1), "spins": 2, **grids}
    whole, part = (exchanging(symmetry_level=level, **settings, size=grids["wave_grid"]) for level in (-1, 2))
    assert any(point.flips for point in part.operator.stars.mesh)
    energies = [one.operator.energy(one.coeff, one.image, one.filling) for one in (whole, part)]
    assert energies[1] == pytest.approx(energies[0], abs=2e-9)


@pytest.mark.fast("mesh2-9")
@pytest.mark.parametrize(("mesh", "points"), [((2, 2, 2), 8), ((2, 2, 1), 8), ((3, 1, 1), 9)])
def test_irreducible_points_as_a_list_are_the_mesh(exchanging, mesh, points):
    """Each shares its weight with its star; a point without weight adds nothing.  Two meshes lack operations of the
    crystal, and exchange acts between what these make of them: seven points of 2 x 2 x 2 in three stars, and one."""
    case = exchanging("si", occupied=4, mesh=mesh, symmetry_level=2)
    kpoints = case.calc.kpoints
    listed = explicit(kpoints.point_kc, kpoints.weight_k, kpoints.symmetry)
    operator = ExchangeOperator(case.calc.at_points(listed).atoms, case.operator.kernel, 0.4)
    assert len(operator.stars.mesh) == len(case.operator.stars.mesh) == points
    image = operator.apply(operator.sources(case.coeff, case.occ), case.coeff)
    torch.testing.assert_close(image, case.image, atol=1e-9, rtol=0)
    weight_k = np.append(np.ones(len(kpoints.point_kc)), 0.0)
    longer = explicit(np.concatenate([kpoints.point_kc, [[0.1, 0.2, 0.3]]]), weight_k, kpoints.symmetry)
    assert {point.irreducible for point in mesh_points(longer)} == set(range(len(kpoints.point_kc)))


def test_levels_that_are_equal_by_symmetry_are_equal_on_a_mesh_without_it(exchanging):
    """At Gamma of a row of three points in silicon, between all points that the operations make of it."""
    case = exchanging("si", occupied=4, mesh=(3, 1, 1), symmetry_level=2)
    assert case.calc.kpoints.kept_operations < case.calc.kpoints.symmetry.order
    level_n = torch.linalg.eigvalsh(matrix(case)[0, 0][1:4, 1:4])
    torch.testing.assert_close(level_n, level_n.mean().expand(3), atol=1e-7, rtol=0)
    probe = probe_charge_kernel(case.calc.structure.lattice_cv, np.diag([3, 1, 1]))
    inside = ExchangeOperator(case.calc.atoms, probe, 0.4)
    assert len(inside.stars.mesh) == 3  # 1/r knows the differences of the mesh alone


@pytest.mark.slow
def test_all_parts_of_the_q_points_together_are_all(exchanging):
    """Even and odd ones share them."""
    settings = {"mesh": (1, 2, 2), "symmetry_level": -1}
    whole = exchanging(**settings)
    even, odd = (exchanging(**settings, downsampling=Downsampling((1, 1, 1), parity)) for parity in (EVEN, ODD))
    torch.testing.assert_close(0.5 * (even.image + odd.image), whole.image, atol=1e-13, rtol=0)
    assert float((even.image - odd.image).abs().max()) > 1e-4


@pytest.mark.slow
def test_probe_charge_moves_the_levels_of_occupied_orbitals_alone(exchanging):
    """By -α v(0)/Ω, for orbitals are orthogonal with their compensation charges."""
    calc = exchanging().calc
    kernel, bare = probe_charge_kernel(calc.structure.lattice_cv, np.eye(3)), ExchangeKernel(0.0, 0.0, 0.0, "1/r")
    with_charge, without = (exchanging(kernel=one) for one in (kernel, bare))
    change_nn = (matrix(with_charge) - matrix(without))[0, 0]
    expected_n = -0.4 * kernel.at_zero / float(calc.basis.volume) * with_charge.occ[0, 0]
    torch.testing.assert_close(change_nn, torch.diag(expected_n).to(change_nn.dtype), atol=1e-8, rtol=0)


MOVED = {
    "complex": {"mesh": (1, 1, 2), "symmetry_level": -1},
    "real in space, fractional": {
        "name": "lih_bent", "occupied": 2, "mesh": (1, 1, 2), "real": True, "cutoff_eV": 150.0, "top": 0.6,
    },
    "two spins, fractional": {
        "name": "o2", "occupied": 6, "bands": 8, "spins": 2, "cutoff_eV": 150.0, "real": True, "top": 0.3,
    },
}  # fmt: skip


@pytest.mark.fast("real in space, fractional")
@pytest.mark.parametrize("name", MOVED)
def test_forces_on_compensation_charges_and_projectors_are_the_derivative(name, exchanging, calculation):
    """Of E_x at fixed coefficients, an atom displaced."""
    settings = MOVED[name]
    case = exchanging(**settings)
    found = exchange_derivatives(case.operator, case.sources, case.coeff, case.filling)
    zero_sx = torch.zeros_like(case.calc.starting_density().occupancy_sx)
    eig = torch.zeros_like(case.filling)
    moving_av = projector_forces(case.calc.atoms, zero_sx, case.coeff, eig, case.filling, found.pencil_sknI)
    force_av, structure, step = found.force_av + moving_av, case.calc.structure, 1e-3
    names = ("mesh", "symmetry_level", "real", "spins")
    same = {"cutoff_eV": 90.0, **{k: v for k, v in settings.items() if k in (*names, "cutoff_eV")}}
    for a, v in ((0, 0), (1, 2)):
        energies = []
        for sign in (1, -1):
            position_av = structure.positions_av.copy()
            position_av[a, v] += sign * step
            calc = calculation(replace(structure, scaled_ac=position_av @ np.linalg.inv(structure.lattice_cv)), **same)
            operator = ExchangeOperator(calc.atoms, case.operator.kernel, 0.4)
            image = operator.apply(operator.sources(case.coeff, case.occ), case.coeff)
            energies.append(operator.energy(case.coeff, image, case.filling))
        assert (energies[1] - energies[0]) / (2 * step) == pytest.approx(float(force_av[a, v]), rel=1e-5, abs=1e-7)
