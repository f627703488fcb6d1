"""Finite displacements and strains on crystals whose answers are known."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import brentq, minimize

from eigenwerk.errors import InputError
from eigenwerk.motion.mover import drive
from eigenwerk.motion.surface import Arrangement
from eigenwerk.motion.vibrations.elastic import PAIRS, strain_vv
from eigenwerk.motion.vibrations.vibrations import VibrationSettings, vibrations
from eigenwerk.units import EV_PER_ANGSTROM3_GPA, FREQUENCY_THZ, THZ_PER_CM
from pair_crystals import LennardJones, Springs, diamond, fcc, hcp, operations_of, repeated

MASS = 28.0855


def found(surface, operations=None, masses_a=None, free_av=None, **settings):
    """The mover at its end."""
    start = surface.start
    masses_a = np.full(len(start.scaled_ac), MASS) if masses_a is None else masses_a
    mover = vibrations(VibrationSettings(**settings), start, masses_a, free_av, operations)
    drive(mover, surface)
    assert mover.finished, mover.status
    return mover


def test_springs_of_diamond_have_the_frequency_of_the_closed_form():
    """ω² = (4/3)(k + 2 k')/μ with four bonds: Σ n nᵀ = 4/3."""
    surface = Springs(diamond(5.43), 2.5, stiffness=3.0, sideways=0.4)
    masses_a = np.array([28.0, 12.0])
    result = found(surface, operations_of(surface.start, ["Si", "C"]), masses_a).result
    expected = FREQUENCY_THZ * np.sqrt(4 / 3 * (3.0 + 2 * 0.4) * (1 / 28 + 1 / 12))
    assert np.allclose(result.modes.thz_n[:3], expected, atol=1e-10)
    assert np.allclose(result.modes.thz_n[3:], 0, atol=1e-5)
    assert np.allclose(np.einsum("nav,mav->nm", result.modes.vector_nav, result.modes.vector_nav), np.eye(6))


def test_supercell_of_a_chain_folds_its_dispersion():
    """ω² = 4 k/m sin²(qa/2) at the q that fit, along x; k' across."""
    chain = repeated(Arrangement(np.diag([2.0, 9.0, 9.0]), np.zeros((1, 3))), (6, 1, 1))
    result = found(Springs(chain, 2.1, stiffness=2.0, sideways=0.0), operations_of(chain, ["Si"] * 6)).result
    expected = FREQUENCY_THZ * np.sqrt(4 * 2.0 / MASS) * np.abs(np.sin(np.pi * np.arange(6) / 6))
    assert np.allclose(result.modes.thz_n[:6], np.sort([*expected, 0])[::-1][:6], atol=1e-5)


@pytest.mark.fast("2-crystal0", "1-crystal2", "4-crystal0", "1-crystal1")
@pytest.mark.parametrize("crystal", [diamond(5.43), repeated(diamond(5.43), (2, 2, 2)), hcp(2.5, 1.6)])
@pytest.mark.parametrize("samples", [1, 2, 4])
def test_inequivalent_displacements_give_what_all_give(crystal, samples):
    surface = Springs(crystal, 4.2)
    operations = operations_of(crystal, ["Si"] * len(crystal.scaled_ac))
    few = found(surface, operations, samples=samples, strains=True)
    all_of_them = found(surface, operations, samples=samples, symmetry=False, strains=True)
    assert len(few.steps) < len(all_of_them.steps) / 2
    for name in ("matrix_xx", "measured_xx"):
        pair = getattr(few.result.constants, name), getattr(all_of_them.result.constants, name)
        assert np.abs(pair[0] - pair[1]).max() < 1e-10
    for name in ("total_jj", "clamped_jj"):
        pair = getattr(few.result.elastic, name), getattr(all_of_them.result.elastic, name)
        assert np.abs(pair[0] - pair[1]).max() < 1e-8
    assert few.result.constants.asymmetry < 1e-10 and few.result.constants.sum_rule < 1e-10


def test_few_displacements_of_symmetric_crystals():
    """Silicon: one displacement each way, and three strained cells."""
    start = diamond(5.43)
    mover = found(Springs(start, 2.5), operations_of(start, ["Si", "Si"]), strains=True)
    assert [step.name for step in mover.steps] == [
        "start", "strain xx +1", "strain xx -1", "strain yz +1", "atom 1 x +1",
    ]  # fmt: skip


def test_arrangements_name_the_operations_they_keep():
    """Each named operation maps the displaced crystal onto itself; no other does."""
    start = repeated(diamond(5.43), (2, 1, 1))
    operations = operations_of(start, ["Si"] * 4)
    mover = vibrations(VibrationSettings(strains=True), start, np.full(4, MASS), None, operations)
    surface = LennardJones(start, 4.2)
    while (arrangement := mover.ask()) is not None:
        assert mover.ask() is arrangement
        alone = {o for o in range(len(operations.rotation_occ)) if keeps(operations, o, arrangement)}
        assert arrangement.operation_x is None or set(arrangement.operation_x) == alone
        assert arrangement.operation_x is None or 0 in alone
        mover.tell(surface(arrangement))


def keeps(operations, o, arrangement):
    """Whether W leaves the metric of the lattice as it is, and takes vectors between atoms to those of their images."""
    rotation_cc, map_a = operations.rotation_occ[o], operations.atom_map_oa[o]
    metric_cc = arrangement.lattice_cv @ arrangement.lattice_cv.T
    offset_ac = arrangement.scaled_ac - arrangement.scaled_ac[0]
    image_ac = arrangement.scaled_ac[map_a] - arrangement.scaled_ac[map_a[0]] - offset_ac @ rotation_cc.T
    same = np.allclose(rotation_cc.T @ metric_cc @ rotation_cc, metric_cc, atol=1e-6)
    return same and np.allclose(image_ac, np.rint(image_ac), atol=1e-6)


def relaxed_fcc(shells):
    """Lennard-Jones fcc at zero pressure, with all neighbours nearer than so many lattice constants."""

    def pressure(a):
        surface = LennardJones(fcc(a), shells * a)
        return float(np.trace(surface(surface.start).stress_vv))

    a = brentq(pressure, 3.2, 4.5, xtol=1e-14)
    return LennardJones(fcc(a), shells * a)


def test_elastic_constants_of_lennard_jones_are_the_lattice_sums():
    """C_ijkl = 1/2V Σ (φ'' - φ'/r) r_i r_j r_k r_l / r² at zero pressure; the rest is the error of the difference."""
    surface = relaxed_fcc(1.8)
    offset_xv = surface.pairs[2] @ surface.start.lattice_cv
    r_x = np.linalg.norm(offset_xv, axis=1)
    _, slope_x, curve_x = surface.slopes(r_x)
    weight_x = (curve_x - slope_x / r_x) / r_x**2 / 2 / surface.start.volume
    exact = np.einsum("x,xi,xj,xk,xl->ijkl", weight_x, *[offset_xv] * 4) * EV_PER_ANGSTROM3_GPA
    exact_jj = np.array([[exact[v, w, x, y] for x, y in PAIRS] for v, w in PAIRS])
    operations = operations_of(surface.start, ["Ar"])
    errors = []
    for step in (0.02, 0.01):
        tensor = found(surface, operations, strains=True, displacement=step, samples=4).result.elastic
        errors.append(np.abs(tensor.total_jj - exact_jj).max())
        assert np.allclose(tensor.total_jj[0, 1], tensor.total_jj[3, 3], atol=errors[-1] * 2)  # Cauchy
    assert errors[1] < 2e-4 * exact_jj[0, 0] and errors[1] < errors[0] / 12
    moduli = tensor.moduli
    assert moduli.bulk_voigt == pytest.approx(moduli.bulk_reuss) == pytest.approx(tensor.total_jj[0, :3].sum() / 3)
    assert moduli.shear_reuss < moduli.shear < moduli.shear_voigt
    assert moduli.young == pytest.approx(2 * moduli.shear * (1 + moduli.poisson))


def test_relaxed_ions_give_the_curvature_of_the_relaxed_energy():
    """hcp: a strain in the plane moves the two layers against each other."""
    start = hcp(2.55, 1.633)
    surface = Springs(start, 3.0, stiffness=3.0, sideways=0.3)
    tensor = found(surface, operations_of(start, ["Mg", "Mg"]), strains=True).result.elastic
    size = 1e-3

    def relaxed(change_vv):
        lattice_cv = start.lattice_cv @ (np.eye(3) + change_vv)

        def energy(moved_v):
            scaled_ac = start.scaled_ac + np.array([np.zeros(3), moved_v @ np.linalg.inv(start.lattice_cv)])
            point = surface(Arrangement(lattice_cv, scaled_ac))
            return point.free_energy / size**2, -point.forces_av[1] / size**2

        return minimize(energy, np.zeros(3), jac=True, method="BFGS", options={"gtol": 1e-8}).fun

    for j in range(6):
        curve = 2 * relaxed(size * strain_vv(j)) / start.volume * EV_PER_ANGSTROM3_GPA
        assert tensor.total_jj[j, j] == pytest.approx(curve, rel=1e-6)
    assert tensor.ionic_jj[0, 0] < -1 and abs(tensor.ionic_jj[2, 2]) < 1e-8


def test_frozen_atoms_do_not_vibrate():
    """One atom of diamond alone: ω² = (4/3)(k + 2k')/m, no sum rule; the free axes are Cartesian."""
    surface = Springs(diamond(5.43), 2.5)
    free_av = np.array([[False] * 3, [True, False, True]])
    mover = found(surface, operations_of(surface.start, ["Si", "Si"]), free_av=free_av)
    modes = mover.result.modes
    assert np.allclose(modes.thz_n, FREQUENCY_THZ * np.sqrt(4 / 3 * 3.8 / MASS), atol=1e-10)
    assert (modes.vector_nav[:, ~free_av] == 0).all() and mover.result.constants.translation_yx.shape == (0, 2)
    plain = found(surface, None, free_av=free_av, symmetry=False).result.constants.matrix_xx
    assert np.allclose(mover.result.constants.matrix_xx, plain, atol=1e-10)


def test_sum_rule_is_imposed_and_what_it_changed_is_told():
    """Forces with an error: raw acoustic modes are off, imposed ones are at zero."""
    surface, noise = Springs(diamond(5.43), 2.5), np.random.default_rng(3)

    class Noisy:
        start = surface.start

        def __call__(self, arrangement):
            point = surface(arrangement)
            point.forces_av[...] += 1e-3 * noise.standard_normal((2, 3))
            return point

    result = found(Noisy(), symmetry=False).result
    assert result.constants.sum_rule > 0.01 and result.constants.asymmetry > 0.01
    assert (
        np.abs(result.modes.acoustic_thz_y).max() > 0.05 > 1e-4 > np.abs(np.sort(np.abs(result.modes.thz_n))[:3]).max()
    )
    acoustic, lowest = np.abs(result.modes.acoustic_thz_y).max() * THZ_PER_CM, result.modes.per_cm_n[:3].min()
    (remark,) = (text for text in result.remarks if "before the sum rule" in text)
    assert f"up to {acoustic:.1f} cm-1" in remark and "PREC = Accurate" in remark
    assert f"the one at {lowest:.1f} cm-1 by some {acoustic**2 / (2 * lowest):.1g}" in remark


def test_fourth_order_differences_are_better_than_second_and_first():
    start = diamond(5.43)
    surface = LennardJones(start, 2.5, size=2.2)
    slope, curve = surface.slopes(5.43 * 3**0.5 / 4)[1:]
    exact = 4 / 3 * (curve + 2 * slope / (5.43 * 3**0.5 / 4))
    errors = [
        abs(found(surface, None, symmetry=False, displacement=0.04, samples=n).result.constants.matrix_xx[0, 0] - exact)
        for n in (1, 2, 4)
    ]
    assert errors[2] < errors[1] / 10 and errors[1] <= errors[0]


@pytest.mark.parametrize("stop", [0, 1, 4])
def test_goes_on_to_the_last_bit(stop):
    start = hcp(2.5, 1.6)
    surface, operations = LennardJones(start, 4.0), operations_of(start, ["Mg", "Mg"])
    settings, masses_a = VibrationSettings(strains=True), np.full(2, 24.3)
    whole = vibrations(settings, start, masses_a, None, operations)
    drive(whole, surface)
    first = vibrations(settings, start, masses_a, None, operations)
    drive(first, surface, stop)
    second = vibrations(settings, start, masses_a, None, operations)
    second.restore(first.state())
    drive(second, surface)
    assert (second.result.constants.matrix_xx == whole.result.constants.matrix_xx).all()
    assert (second.result.elastic.total_jj == whole.result.elastic.total_jj).all()
    ended = vibrations(settings, start, masses_a, None, operations)
    ended.restore(whole.state())
    assert ended.ask() is None and (ended.result.modes.square_n == whole.result.modes.square_n).all()


def test_refuses_the_state_of_other_displacements():
    start = diamond(5.43)
    first = vibrations(VibrationSettings(), start, np.full(2, MASS), None, None)
    second = vibrations(VibrationSettings(samples=4), start, np.full(2, MASS), None, None)
    with pytest.raises(InputError, match=r"13 points with steps of .* Å, but 25"):
        second.restore(first.state())


def test_points_that_did_not_converge_are_named_and_do_not_count_as_done():
    surface = Springs(diamond(5.43), 2.5)
    mover = vibrations(VibrationSettings(), surface.start, np.full(2, MASS), None, None)
    for x, _ in enumerate(mover.steps):
        point = surface(mover.ask())
        report = mover.tell(type(point)(point.arrangement, point.free_energy, point.forces_av, converged=x != 3))
        assert any("not converged" in word for word in report.words) == (x == 3)
    assert not mover.finished and mover.result.unconverged == (3,)
    assert "points 4 did not converge" in mover.result.remarks[0] and "1 of them not converged" in mover.status


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"displacement": 0.0}, "POTIM = 0: displacements of atoms lie between 0 and 0.1"),
        ({"displacement": -0.01}, "POTIM = -0.01"),
        ({"samples": 3}, "NFREE = 3: each direction is tried 1, 2 or 4 times"),
        ({"free_av": np.zeros((2, 3), bool)}, "no coordinate may move"),
        ({"masses_a": np.array([0.0, 1.0])}, "POMASS: masses must be positive"),
    ],
)
def test_bad_input_is_refused(change, words):
    with pytest.raises(InputError, match=words):
        found(Springs(diamond(5.43), 2.5), **change)


def test_elastic_constants_without_stress_are_refused():
    with pytest.raises(InputError, match="need the stress"):
        found(LennardJones(diamond(5.43), 2.5, stress=False), strains=True)


def test_forces_that_are_uncertain_are_told():
    surface = Springs(diamond(5.43), 2.5)
    mover = vibrations(VibrationSettings(displacement=0.01), surface.start, np.full(2, MASS), None, None)
    while (arrangement := mover.ask()) is not None:
        mover.tell(replace(surface(arrangement), force_error=2e-3))
    assert "Force constants are uncertain by up to 0.20 eV/Å²" in mover.result.remarks[0]


def test_remarks_on_a_start_that_is_not_relaxed():
    start = Arrangement(diamond(5.43).lattice_cv, np.array([[0.0, 0, 0], [0.26, 0.25, 0.24]]))
    remarks = " ".join(found(LennardJones(start, 4.0), strains=True).result.remarks)
    assert "Atoms of the start feel up to" in remarks and "under a stress of" in remarks
