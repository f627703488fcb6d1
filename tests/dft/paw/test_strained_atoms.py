"""Atoms on the plane waves of another cell: what a fresh basis would give, and the derivatives by strain."""

from math import pi

import numpy as np
import pytest
import torch

from eigenwerk.dft.basis.plane_wave_basis import make_basis
from eigenwerk.dft.paw.atoms import PawAtoms

STEP = 2e-4
CASES = {
    # crystal of tests/dft/conftest.py, settings
    "complex": ("sic_bent", {"mesh": (2, 1, 1), "cutoff_eV": 100.0}),
    "real at Gamma": ("sic_bent", {"real": True, "cutoff_eV": 100.0}),
    "real by inversion": ("pairs", {"mesh": (1, 2, 1), "real": True, "symmetry_level": 2, "cutoff_eV": 60.0}),
    "on the grid": (
        "sic_bent",
        {"precision": "Normal", "mesh": (1, 1, 2), "cutoff_eV": 200.0, "real_space": {"Si": 1e-3, "C": 1e-3}},
    ),
}  # fmt: skip


@pytest.fixture(params=CASES, ids=str)
def calc(request, crystal, calculation):
    name, settings = CASES[request.param]
    return calculation(crystal(name), **settings)


def atoms_at(calc, lattice_cv):
    """The atoms of a calculation in another cell, on the same plane waves."""
    setups = {species.setup.symbol: species.setup for species in calc.atoms.layout.species}
    return PawAtoms(calc.basis.strained(lattice_cv), setups, calc.atoms.filtered)


def cell(calc, strain_vv):
    return calc.basis.lattice.vector_cv @ (torch.eye(3, dtype=torch.float64) + strain_vv)


def fields_of(atoms, occupancy_sx):
    """Everything that an energy asks of atoms, by its name."""
    return {
        "projectors": atoms.projector_kIG, "cores": atoms.pseudo_core_g, "zero potential": atoms.zero_potential_g,
        "charge": atoms.compensation_charge(occupancy_sx.sum(0)),
    }  # fmt: skip


@pytest.fixture
def occupancy_sx(calc, disturbed):
    return disturbed(calc.atoms, 1, 8.0, size=0.1).occupancy_sx


@pytest.mark.fast("real by inversion", "real at Gamma", "complex")
def test_atoms_are_those_of_the_new_cell_while_no_wave_crosses_the_cutoff(calc, occupancy_sx):
    """A larger cell of the same shape, in which the order of the waves is the same."""
    atoms = atoms_at(calc, (1 + 1e-7) * calc.basis.lattice.vector_cv)
    strained = atoms.basis
    fresh = make_basis(
        strained.structure, calc.kpoints, strained.cutoff, strained.precision, grids=strained.grids, real=calc.real
    )
    assert torch.equal(fresh.index_khc, strained.index_khc) and torch.equal(fresh.index_gc, strained.index_gc)
    again = PawAtoms(fresh, {s.setup.symbol: s.setup for s in atoms.layout.species}, atoms.filtered)
    expected, unchanged = fields_of(again, occupancy_sx), fields_of(calc.atoms, occupancy_sx)
    for name, value in fields_of(atoms, occupancy_sx).items():
        size = float(value.abs().max())
        torch.testing.assert_close(value, expected[name], rtol=0, atol=1e-12 * size)
        assert float((value - unchanged[name]).abs().max()) > 1e-9 * size


@pytest.mark.fast("complex", "real at Gamma")
def test_strain_derivatives_are_those_of_the_tables(calc, occupancy_sx):
    """Automatic differentiation beside finite differences of fixed plane waves, along a strain without symmetry."""
    strain_vv = torch.tensor(np.random.default_rng(5).normal(size=(3, 3)))

    def sums(size):
        """One smooth number of each field."""
        draw = torch.Generator().manual_seed(1)
        atoms = atoms_at(calc, cell(calc, size * strain_vv))
        return {
            name: (value * torch.randn(value.shape[-1], generator=draw, dtype=value.dtype)).sum().abs() ** 2
            for name, value in fields_of(atoms, occupancy_sx).items()
        }

    size = torch.zeros((), dtype=torch.float64, requires_grad=True)
    exact, high, low = sums(size), sums(STEP), sums(-STEP)
    for name, value in exact.items():
        (slope,) = torch.autograd.grad(value, size, retain_graph=True)
        assert abs(float(slope)) > 1e-3 * float(value.detach())
        assert float(slope) == pytest.approx(float(high[name] - low[name]) / (2 * STEP), rel=1e-5), name


@pytest.mark.fast("real by inversion", "complex")
def test_norms_of_projectors_change_smoothly(calc):
    """Fifth differences of <p|p> along a strain; tables get longer and spheres more points on the way."""
    strain_vv = torch.tensor(np.random.default_rng(6).normal(size=(3, 3)))
    norm_xI = torch.stack([
        (atoms_at(calc, cell(calc, x * 5e-4 * strain_vv)).projector_kIG.abs() ** 2).sum((0, 2)) for x in range(-2, 4)
    ])  # fmt: skip
    fifth_I = torch.tensor(np.diff(norm_xI.numpy(), n=5, axis=0)[0])
    slope_I = norm_xI[3] - norm_xI[1]
    assert float(slope_I.abs().max()) > 1e-4 * float(norm_xI.max())
    assert float(fifth_I.abs().max()) < 1e-9 * float(norm_xI.max())


@pytest.mark.fast("real by inversion", "complex")
def test_compensation_charges_keep_their_electrons(calc, occupancy_sx):
    """Volume times the g = 0 wave depends on the moments alone."""
    electrons = [
        float((atoms.basis.volume * atoms.compensation_charge(occupancy_sx.sum(0))[0]).real)
        for atoms in (calc.atoms, atoms_at(calc, 1.02 * calc.basis.lattice.vector_cv))
    ]
    assert electrons[0] == pytest.approx(electrons[1], rel=1e-13)
    assert abs(electrons[0]) > 1 / (4 * pi)
