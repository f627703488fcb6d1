"""Hybrids on grids of ranks: one energy, one set of forces, one stress."""

from dataclasses import replace
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
import pytest
import torch

from covering import covering
from eigenwerk.dft.calculation import Calculation
from eigenwerk.dft.exchange.kernel import screened_kernel
from eigenwerk.dft.exchange.operator import ExchangeOperator
from eigenwerk.dft.exchange.pairs import pair_symmetry
from eigenwerk.dft.exchange.pairs.pair_derivatives import exchange_derivatives
from eigenwerk.dft.scf.stages.exchange_loop import ExchangeLoop
from eigenwerk.dft.terms.energies import Energies
from eigenwerk.functionals.hybrid import Hybrid
from eigenwerk.parallel.process_grid import make_process_grid
from eigenwerk.parallel.runtime import Runtime
from eigenwerk.parallel.serial import SerialCommunicator
from ground_states import ENERGY_PER_ATOM, FORCE, STRESS, pieces

pytestmark = pytest.mark.ranks

CASES = {
    # name: crystal of tests/dft/conftest.py, settings
    "complex": ("sic_bent", {"mesh": (1, 1, 2), "hybrid": Hybrid.of(0.25)}),
    "Gamma": ("lih_bent", {"cutoff_eV": 150.0, "real": True, "hybrid": Hybrid.of(0.25)}),
    "inversion": ("si", {"mesh": (3, 1, 1), "symmetry_level": 2, "real": True, "hybrid": Hybrid.of(0.25)}),
    # a mesh with fewer operations than the crystal: pairs of all points that these make of it
    "stars": ("si", {"mesh": (2, 1, 1), "symmetry_level": 2, "real": True, "hybrid": Hybrid.of(0.25, 0.11)}),
    # a gapped one: levels of oxygen in a box move by 1e-8 hartree where rounding errors differ, whatever EDIFF
    "spins": (
        "lih_bent",
        {"spins": 2, "fixed_moment": 2.0, "cutoff_eV": 150.0, "real": True, "hybrid": Hybrid.of(0.25)},
    ),
}  # fmt: skip


def solve_by_pairs_once(world, parts, groups):
    """The same where each pair of orbitals is done once, which small systems do not."""
    with patch.object(pair_symmetry, "pairs_once", lambda *sizes: True):
        return solve(world, parts, groups)


def solve(world, parts, groups):
    """On one rank: a ground state, as plain values."""
    structure, kpoints, parameters, datasets, real = parts
    runtime = Runtime(grid=make_process_grid(world, groups))
    calc = Calculation(structure, kpoints, parameters, datasets, runtime, real)
    found = calc.run()
    state = found.state
    numbers = found.forces_av, found.stress_vv, state.eig_skn.numpy()
    return state.converged, state.energies.free, *numbers, calc.exchange.applications


@pytest.fixture(scope="module")
def reference(calculation, crystal):
    known = {}

    def find(name):
        if name not in known:
            crystal_name, settings = CASES[name]
            settings = {"cutoff_eV": 90.0, "ediff_eV": 1e-8, **settings}
            parts = pieces(calculation(crystal(crystal_name), **settings))
            known[name] = parts, solve(SerialCommunicator(), parts, 1)
        return known[name]

    return find


LAYOUTS = (2, 1), (2, 2), (3, 1), (4, 2)
"""Ranks and k-groups."""


def fits(case, layout, *work):
    """Three ranks for the odd number of orbitals, four for several bands of several points."""
    size, groups = layout
    return groups == 1 if case in ("Gamma", "spins") else size != 3


def is_small(case, layout, *work):
    return case == "stars" and layout[0] == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "layout", "work"),
    covering(CASES, LAYOUTS, (solve, solve_by_pairs_once), possible=fits, fast=is_small, together=1),
)
def test_hybrids_are_the_same_on_every_grid_of_ranks(ranks, reference, case, layout, work):
    size, groups = layout
    parts, (there, free, forces_av, stress_vv, eig_skn, applications) = reference(case)
    assert there
    for converged, other, other_av, other_vv, other_skn, count in ranks(size, "gloo").run(work, parts, groups):
        assert converged and count == applications
        assert other == pytest.approx(free, abs=ENERGY_PER_ATOM * len(parts[0].symbols))
        np.testing.assert_allclose(other_av, forces_av, atol=FORCE)
        np.testing.assert_allclose(other_vv, stress_vv, atol=STRESS)
        np.testing.assert_allclose(other_skn[..., :-2], eig_skn[..., :-2], atol=4 * ENERGY_PER_ATOM)


APPLIED = {
    # more ranks than occupied bands or points among them; an odd number of real orbitals on one rank
    "complex": ("sic_bent", {"mesh": (1, 1, 2)}, 4, 7),
    "rotations": ("si", {"mesh": (2, 2, 2), "symmetry_level": 2}, 4, 5),
    "Gamma": ("lih_bent", {"cutoff_eV": 150.0, "real": True}, 3, 5),
    "inversion": ("si", {"mesh": (3, 1, 1), "symmetry_level": 2, "real": True}, 4, 7),
    "spins": ("o2", {"spins": 2, "cutoff_eV": 150.0, "real": True}, 6, 8),
}  # fmt: skip
"""crystal, settings, occupied, bands."""

POINTS = {"complex": 2, "rotations": 3, "Gamma": 1, "inversion": 2, "spins": 1}
"""Their k-points: there are no more k-groups."""


def waves_of(basis, bands):
    """Functions of the wave vector alone, whatever the rank; (s, k, n, G)."""
    wave_khc = basis.index_khc.cpu().double() + torch.as_tensor(basis.point_kc)[:, None]
    spins, draw = basis.spin.channels, torch.Generator().manual_seed(5)
    centre_snc, turn_snc = torch.randn((2, spins, bands, 3), generator=draw, dtype=torch.float64)
    found = []
    for centre_nc, turn_nc in zip(centre_snc, turn_snc, strict=True):
        distance_knh = (wave_khc[:, None] - centre_nc[:, None]).square().sum(-1)
        angle_knh = (wave_khc[:, None] * turn_nc[:, None]).sum(-1)
        found.append(torch.polar(torch.exp(-0.5 * distance_knh), angle_knh) * basis.mask_kh.cpu()[:, None])
    return torch.stack([basis.form.vectors(wave_knh.to(basis.mask_kh.device)) for wave_knh in found])


SINGLE, SINGLE_FORCE = 1e-6 / 27.2, 1e-3 / 51.4
"""Hartree per atom, hartree per bohr, that may change where pairs are in single precision.  Runs end at other densities
within EDIFF then, which levels and forces follow to first order: they are as far from those in double precision."""


@pytest.mark.slow
@pytest.mark.parametrize(("case", "size", "groups"), [("complex", 2, 2), ("complex", 4, 2), ("spins", 3, 1)])
def test_pairs_in_single_precision_are_the_same_on_every_grid_of_ranks(
    ranks, calculation, crystal, case, size, groups
):  # fmt: skip
    name, settings = CASES[case]
    parts = pieces(calculation(crystal(name), **{"cutoff_eV": 90.0, "exchange_single": True, **settings}))
    there, free, forces_av, *_ = solve(SerialCommunicator(), parts, 1)
    assert there
    for converged, other, other_av, *_ in ranks(size, "gloo").run(solve, parts, groups):
        assert converged
        assert other == pytest.approx(free, abs=SINGLE * len(parts[0].symbols))
        np.testing.assert_allclose(other_av, forces_av, atol=SINGLE_FORCE)


def apply_to_waves(world, parts, groups, occupied, bands, once, single, together=0, device="cpu"):
    """On one rank: <ψ|V_x ψ> by all points and bands; energy; forces, strain and pencil of its derivative."""
    structure, kpoints, parameters, datasets, real = parts
    device = torch.device(f"cuda:{world.rank}" if device == "own" else device)
    runtime = Runtime(device=device, grid=make_process_grid(world, groups))
    atoms = Calculation(structure, kpoints, replace(parameters, hybrid=None), datasets, runtime, real).atoms
    operator = ExchangeOperator(atoms, screened_kernel(0.15), 0.4, single=single, together=together)
    basis, spins, count = atoms.basis, atoms.basis.spin.channels, len(kpoints.point_kc)
    coeff = waves_of(basis, bands)
    occ = torch.zeros((spins, count, bands), dtype=torch.float64)
    occ[..., :occupied] = 1 - 0.1 * torch.arange(occupied)
    occ[0, -1, occupied - 1] = 0
    with patch.object(pair_symmetry, "pairs_once", lambda *sizes: once):
        image = pair_symmetry.applied_to_own(operator, coeff, occ)
    again = operator.apply(operator.sources(coeff, occ), coeff)
    np.testing.assert_allclose(again.cpu(), image.cpu(), atol=1e-6 if single else 1e-13)
    filling = torch.as_tensor(kpoints.weight_k)[:, None] * occ * basis.spin.degeneracy
    matrix = torch.zeros((spins, count, bands, bands), dtype=coeff.dtype)
    matrix[:, basis.own_k] = (coeff.conj() @ image.mT).cpu()
    with patch.object(pair_symmetry, "pairs_once", lambda *sizes: once):
        found = exchange_derivatives(operator, operator.sources(coeff, occ), coeff, filling)
    energy, strain = operator.energy(coeff, image, filling), world.sum(found.strain_vv)
    return energy, world.sum(matrix).numpy(), found.force_av.cpu().numpy(), strain.cpu().numpy()


@pytest.mark.fast(
    "Gamma-3 1-False-False",
    "spins-2 1-False-True",
    "inversion-2 2-False-False",
)
@pytest.mark.parametrize(
    ("case", "layout", "once", "single"),
    covering(
        APPLIED, ((2, 1), (2, 2), (3, 1), (3, 3), (4, 2), (4, 1)), (False, True), (False, True),
        possible=lambda case, layout, *way: layout[1] <= POINTS[case], fast=lambda case, layout, *way: layout[0] < 4,
    ),
)  # fmt: skip
def test_exchange_of_given_orbitals_is_the_same_on_any_ranks(ranks, calculation, crystal, case, layout, once, single):
    """Of one, two, three and four ranks, as k-groups and as band ranks."""
    name, settings, occupied, bands = APPLIED[case]
    size, groups = layout
    parts = pieces(calculation(crystal(name), **{"cutoff_eV": 90.0, "symmetry_level": 0, **settings}))
    energy, *wanted = apply_to_waves(SerialCommunicator(), parts, 1, occupied, bands, once, single)
    assert energy < -0.01
    close = 3e-7 if single else 1e-12
    for other, *found in ranks(size, "gloo").run(apply_to_waves, parts, groups, occupied, bands, once, single):
        assert other == pytest.approx(energy, rel=close)
        for one, there in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one, there, atol=close * np.abs(there).max() * 10, rtol=0)


@pytest.mark.gpu
@pytest.mark.parametrize(("size", "transport"), [(2, "gloo"), (2, "nccl"), (4, "nccl")])
@pytest.mark.parametrize("once", [False, True])
@pytest.mark.parametrize("case", APPLIED)
def test_ranks_on_gpus_exchange_as_one_processor_does(ranks, calculation, crystal, case, once, size, transport):
    """Two ranks that share a GPU, through host memory; or with one each, orbitals on a stream of their own."""
    if transport == "nccl" and torch.cuda.device_count() < size:
        pytest.skip(f"NCCL needs {size} GPUs")
    name, settings, occupied, bands = APPLIED[case]
    parts = pieces(calculation(crystal(name), **{"cutoff_eV": 90.0, "symmetry_level": 0, **settings}))
    energy, *wanted = apply_to_waves(SerialCommunicator(), parts, 1, occupied, bands, once, False)
    device = "own" if transport == "nccl" else "cuda:0"
    for groups in (1, 2) if len(parts[1].point_kc) > 1 else (1,):
        words = parts, groups, occupied, bands, once, False, 0, device
        for other, *found in ranks(size, transport).run(apply_to_waves, *words):
            assert other == pytest.approx(energy, rel=1e-11)
            for one, there in zip(found, wanted, strict=True):
                np.testing.assert_allclose(one, there, atol=1e-10 * np.abs(there).max(), rtol=0)


def outer_decision(world):
    """On one rank: what is decided of an operator that changed the tolerance itself, give or take rounding errors."""
    excess = -1e-6 * (1 - 1e-12) if world.rank else -1e-6 * (1 + 1e-12)
    atoms = SimpleNamespace(runtime=Runtime(grid=make_process_grid(world, 1)))
    exchange = SimpleNamespace(
        atoms=atoms, renew=lambda *orbitals: 1e-2 * excess, applications=2, energy=-1.0, rows=(), noise=0.0,
        operator=SimpleNamespace(single=False), totals=lambda *orbitals: (-1.0 + excess, -2.0),
    )  # fmt: skip
    outer = ExchangeLoop(exchange, SimpleNamespace(forget=lambda: None), None, energy_tolerance=1e-6)
    outer.renew(None, None, None)
    ripe = outer.ripe
    outer.measure(None, None, Energies(1.0, -2.0, {"exact exchange": -1.0}, 0.0, 0.0, 0.0))
    return ripe, outer.measured, outer.tolerance


def test_ranks_agree_on_whether_an_operator_is_the_last_one(ranks):
    first, other = ranks(2, "gloo").run(outer_decision)
    assert first == other and first[0]
