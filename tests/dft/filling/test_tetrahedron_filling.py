"""Occupations by tetrahedra: exact counts, a stationary free energy, and what does not depend on anything arbitrary."""

import time
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
import torch

from eigenwerk.dft.after.density_of_states import TetrahedronCounting, density_of_states
from eigenwerk.dft.crystal.kpoints import mesh_kpoints
from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.crystal.symmetry import find_symmetry
from eigenwerk.dft.crystal.tetrahedra import Tetrahedra, tetrahedra_of_mesh
from eigenwerk.dft.filling.occupations import make_smearing, occupations
from eigenwerk.dft.filling.tetrahedra import TetrahedronBands
from eigenwerk.dft.filling.tetrahedron_filling import SAME_LEVEL, shared_by_degenerate
from eigenwerk.errors import InputError

EVERY = (-4, -5, -14, -15)
MESH = (4, 3, 3)


def waves(mesh=MESH, bands=4, spins=1, seed=3):
    """Smooth bands that overlap, on all points of a mesh; (s, k, n), and the tetrahedra."""
    draw = np.random.default_rng(seed)
    axes = np.meshgrid(*[np.arange(size) / size for size in mesh[::-1]], indexing="ij")
    point_kc = np.stack(axes[::-1], -1).reshape(-1, 3)
    amplitude_snc = draw.normal(size=(spins, bands, 3)) * 0.05
    eig_snk = np.einsum("snc,kc->snk", amplitude_snc, np.cos(2 * np.pi * point_kc))
    eig_skn = np.sort(np.swapaxes(eig_snk + 0.1 * np.arange(bands)[None, :, None], 1, 2), axis=2)
    full = np.arange(len(point_kc))
    return torch.from_numpy(eig_skn), tetrahedra_of_mesh(np.diag(mesh), np.eye(3), full)


def filled(eig_skn, tetrahedra, electrons, ismear, width=0.01, **more):
    weight_k = torch.from_numpy(tetrahedra.weight_of_points(eig_skn.shape[1]))
    return occupations(
        eig_skn, weight_k, electrons, make_smearing(ismear, None, tetrahedra), width, 2.0 / len(eig_skn), **more
    )


def electrons_in(result, tetrahedra, spins=1):
    weight_k = tetrahedra.weight_of_points(result.occ_skn.shape[1])
    return 2 / spins * float((result.occ_skn.numpy() * weight_k[:, None]).sum())


def free_energy(eig_skn, tetrahedra, electrons, ismear):
    result = filled(eig_skn, tetrahedra, electrons, ismear)
    weight_k = torch.from_numpy(tetrahedra.weight_of_points(eig_skn.shape[1]))
    return 2 * float((eig_skn * result.occ_skn * weight_k[:, None]).sum()) + result.entropy_term


@pytest.mark.parametrize("ismear", EVERY)
@pytest.mark.parametrize("electrons", [0.3, 2.0, 3.7, 7.9, 8.0])
def test_count_is_exact(ismear, electrons):
    eig_skn, tetrahedra = waves()
    assert electrons_in(filled(eig_skn, tetrahedra, electrons, ismear), tetrahedra) == pytest.approx(
        electrons, abs=1e-11
    )


@pytest.mark.parametrize("ismear", [-4, -14])
def test_occupations_are_derivatives_of_the_free_energy(ismear):
    """At a fixed number of electrons ∂F/∂ε = w g f; with Blöchl's correction this is not so."""
    eig_skn, tetrahedra = waves()
    result, h = filled(eig_skn, tetrahedra, 3.7, ismear), 1e-5
    for k, n in ((0, 1), (5, 2), (17, 1), (30, 2)):
        change_skn = torch.zeros_like(eig_skn)
        change_skn[0, k, n] = h
        slope = (free_energy(eig_skn + change_skn, tetrahedra, 3.7, ismear)
                 - free_energy(eig_skn - change_skn, tetrahedra, 3.7, ismear)) / (2 * h)  # fmt: skip
        assert slope == pytest.approx(2 / 36 * float(result.occ_skn[0, k, n]), abs=2e-8)


def test_sharp_tetrahedra_have_no_entropy_and_need_no_width():
    eig_skn, tetrahedra = waves()
    for ismear in (-4, -5):
        result = filled(eig_skn, tetrahedra, 3.7, ismear, width=0.0)
        assert result.entropy_term == 0 == result.zero_width_correction
    with pytest.raises(InputError, match="must be positive"):
        filled(eig_skn, tetrahedra, 3.7, -15, width=0.0)


@pytest.mark.fast("-14--4")
@pytest.mark.parametrize(("soft", "sharp"), [(-14, -4), (-15, -5)])
def test_a_narrow_step_is_a_sharp_level(soft, sharp):
    """The Sommerfeld term goes with the square of the width; it is (π²/6) D w² in the free energy."""
    eig_skn, tetrahedra = waves((6, 6, 6))
    wanted = filled(eig_skn, tetrahedra, 3.7, sharp)
    errors = [filled(eig_skn, tetrahedra, 3.7, soft, width) for width in (2e-3, 1e-3)]
    level = [abs(result.fermi_level - wanted.fermi_level) for result in errors]
    assert level[1] < 1e-4 and level[1] < 0.4 * level[0]
    assert errors[1].entropy_term == pytest.approx(errors[0].entropy_term / 4, rel=0.05)
    assert (errors[1].occ_skn - wanted.occ_skn).abs().max() < 0.05


def test_a_wide_step_is_fermi_dirac_smearing():
    """Of bands without dispersion, where the tetrahedra are points."""
    eig_skn = torch.tensor([[[-0.1, 0.0, 0.015]] * 36], dtype=torch.float64)
    tetrahedra = waves()[1]
    result, plain = filled(eig_skn, tetrahedra, 3.1, -14), occupations(
        eig_skn, torch.full((36,), 1 / 36, dtype=torch.float64), 3.1, make_smearing(-1), 0.01, 2.0
    )  # fmt: skip
    torch.testing.assert_close(result.occ_skn, plain.occ_skn, atol=1e-10, rtol=0)
    assert result.fermi_level == pytest.approx(plain.fermi_level, abs=1e-10)
    assert result.entropy_term == pytest.approx(plain.entropy_term, abs=1e-12)
    assert result.zero_width_correction == pytest.approx(plain.zero_width_correction, abs=1e-12)


@pytest.mark.slow
def test_entropy_is_that_of_the_density_of_states():
    """-TS = w ∫ D(E) [f ln f + (1 - f) ln(1 - f)] dE, with narrow and with wide tetrahedra."""
    eig_skn, tetrahedra = waves((5, 4, 4))
    for width in (2e-3, 0.02, 0.2):
        result = filled(eig_skn, tetrahedra, 3.7, -14, width)
        level = result.fermi_level
        energy_x = np.linspace(float(eig_skn.min()) - 0.01, float(eig_skn.max()) + 0.01, 4001)
        bands = TetrahedronBands.of(eig_skn.numpy(), tetrahedra)
        share_x = np.diff([bands.states(energy) for energy in energy_x])
        x = torch.from_numpy(((energy_x[1:] + energy_x[:-1]) / 2 - level) / width)
        entropy_x = make_smearing(-1).entropy(x).numpy()
        assert result.entropy_term == pytest.approx(2 * width * float(share_x @ entropy_x), rel=2e-3)


@pytest.mark.parametrize("ismear", EVERY)
def test_level_of_an_insulator_is_in_the_middle_of_the_gap(ismear):
    eig_skn, tetrahedra = waves()
    eig_skn[..., 2:] += 0.5
    result = filled(eig_skn, tetrahedra, 4.0, ismear, width=0.005)
    assert result.fermi_level == pytest.approx(float(eig_skn[..., 1].max() + eig_skn[..., 2].min()) / 2, abs=1e-12)
    wanted_skn = torch.zeros_like(eig_skn)
    wanted_skn[..., :2] = 1
    torch.testing.assert_close(result.occ_skn, wanted_skn, atol=1e-12, rtol=0)
    assert abs(result.entropy_term) < 1e-12 and result.warnings == ()


@pytest.mark.parametrize("ismear", EVERY)
def test_degenerate_levels_are_filled_alike(ismear):
    """Flat bands, filled in part: only equal shares of all of them do not depend on rounding."""
    eig_skn = torch.zeros(1, 36, 3, dtype=torch.float64)
    eig_skn += 1e-12 * torch.from_numpy(np.random.default_rng(1).normal(size=eig_skn.shape))
    result = filled(eig_skn, waves()[1], 3.3, ismear)
    torch.testing.assert_close(result.occ_skn, torch.full_like(eig_skn, 0.55), atol=1e-6, rtol=0)


def test_bands_that_touch_share_their_occupation():
    eig_skn, tetrahedra = waves((4, 4, 4))
    eig_skn[0, 9, 2] = eig_skn[0, 9, 1] + 0.1 * SAME_LEVEL
    found = filled(eig_skn, tetrahedra, 3.7, -5).occ_skn[0, 9]
    assert found[1] == found[2] != found[3]


@pytest.mark.parametrize("ismear", EVERY)
def test_order_of_bands_changes_nothing(ismear):
    """Energies of one k-point are sorted when they come; those of another zone's origin are not the first."""
    eig_skn, tetrahedra = waves()
    plain = filled(eig_skn, tetrahedra, 3.7, ismear)
    moved = filled(eig_skn + 30.0, tetrahedra, 3.7, ismear)
    assert moved.fermi_level - 30.0 == pytest.approx(plain.fermi_level, abs=1e-12)
    torch.testing.assert_close(moved.occ_skn, plain.occ_skn, atol=1e-9, rtol=0)


def test_spin_channels_share_a_level_or_have_their_own():
    eig_skn, tetrahedra = waves(spins=2)
    free = filled(eig_skn, tetrahedra, 3.7, -5)
    moment = float((free.occ_skn.sum((1, 2)) / 36) @ torch.tensor([1.0, -1.0], dtype=torch.float64))
    held = filled(eig_skn, tetrahedra, 3.7, -5, fixed_moment=moment)
    assert free.fermi_level_s[0] == free.fermi_level_s[1] == pytest.approx(held.fermi_level_s[0], abs=1e-9)
    torch.testing.assert_close(held.occ_skn, free.occ_skn, atol=1e-7, rtol=0)
    other = filled(eig_skn, tetrahedra, 3.7, -5, fixed_moment=1.0)
    assert other.fermi_level_s[0] > other.fermi_level_s[1]
    assert electrons_in(other, tetrahedra, 2) == pytest.approx(3.7, abs=1e-11)


def test_points_that_are_no_corner_are_occupied_by_their_level():
    eig_skn, tetrahedra = waves()
    more_skn = torch.cat([eig_skn, eig_skn[:, :1]], dim=1)
    found, plain = (filled(eig, tetrahedra, 3.7, -5) for eig in (more_skn, eig_skn))
    torch.testing.assert_close(found.occ_skn[:, :-1], plain.occ_skn)
    torch.testing.assert_close(found.occ_skn[0, -1], (more_skn[0, -1] <= found.fermi_level).to(torch.float64))


@pytest.mark.fast("shift0--14", "shift1--15", "*--4", "*--5")
@pytest.mark.parametrize("ismear", EVERY)
@pytest.mark.parametrize("shift", [(0.0, 0.0, 0.0), (0.5, 0.5, 0.5)])
def test_irreducible_points_equal_the_whole_mesh(ismear, shift):
    """Each with the tetrahedra of the whole mesh: the same level and entropy, occupations added over the stars."""
    structure = Structure(7.6 * (1 - np.eye(3)) / 2, ("Al",), np.zeros((1, 3)))
    kpoints = mesh_kpoints((4, 4, 4), shift, True, find_symmetry(structure, 1e-5, 2)).with_tetrahedra(structure)
    waves_kc = np.cos(2 * np.pi * np.sort(np.abs(kpoints.point_kc), axis=1))
    eig_skn = torch.from_numpy(np.sort(waves_kc @ np.random.default_rng(8).normal(size=(3, 5)) * 0.1, axis=1)[None])
    few = filled(eig_skn, kpoints.tetrahedra, 4.7, ismear)
    whole_k = kpoints.irreducible_of_full
    whole = tetrahedra_of_mesh(np.diag([4, 4, 4]), structure.reciprocal_cv, np.arange(64))
    many = filled(eig_skn[:, whole_k], whole, 4.7, ismear)
    assert few.fermi_level == pytest.approx(many.fermi_level, abs=1e-12)
    assert few.entropy_term == pytest.approx(many.entropy_term, abs=1e-12)
    mean_kn = np.stack([many.occ_skn[0, whole_k == k].mean(0).numpy() for k in range(len(kpoints.point_kc))])
    np.testing.assert_allclose(few.occ_skn[0].numpy(), mean_kn, atol=1e-9)


def test_operations_that_exchange_the_spins_are_followed_to_the_corners():
    """Of an altermagnet, whose channels have each other's energies at points turned by 90°."""
    corner, u = [0.5, 0.5, 0.5], 0.3
    scaled_ac = [[0, 0, 0], corner, [u, u, 0], [-u, -u, 0], [0.5 + u, 0.5 - u, 0.5], [0.5 - u, 0.5 + u, 0.5]]
    moments = np.array([2.0, -2.0, 0, 0, 0, 0])
    structure = Structure(np.diag([9.0, 9.0, 6.0]), ("Mn",) * 2 + ("F",) * 4, np.array(scaled_ac), moments)
    symmetry = find_symmetry(structure, 1e-5, 2)
    kpoints = mesh_kpoints((4, 4, 3), (0.0, 0.0, 0.0), True, symmetry).with_tetrahedra(structure)
    flip_full = symmetry_flips(kpoints)
    assert kpoints.tetrahedra.flip_Tc is not None and flip_full.any()
    draw = np.random.default_rng(5)
    few_skn = np.sort(draw.normal(size=(2, len(kpoints.weight_k), 4)) * 0.02 + 0.1 * np.arange(4), axis=2)
    many_skn = few_skn[np.arange(2)[:, None] ^ flip_full, kpoints.irreducible_of_full]
    whole = tetrahedra_of_mesh(np.diag([4, 4, 3]), structure.reciprocal_cv, np.arange(48))
    few = filled(torch.from_numpy(few_skn), kpoints.tetrahedra, 3.3, -5)
    many = filled(torch.from_numpy(many_skn), whole, 3.3, -5)
    assert few.fermi_level == pytest.approx(many.fermi_level, abs=1e-12)
    energy = [2.0 / 2 * (w * occ * eig).sum() for w, occ, eig in (
        (kpoints.weight_k[:, None], few.occ_skn.numpy(), few_skn), (1 / 48, many.occ_skn.numpy(), many_skn),
    )]  # fmt: skip
    assert energy[0] == pytest.approx(energy[1], abs=1e-9)
    energies = np.linspace(-0.1, 0.5, 40)
    counts = [density_of_states(TetrahedronCounting(t), eig, energies)[1].sum(0) for t, eig in (
        (kpoints.tetrahedra, few_skn), (whole, many_skn),
    )]  # fmt: skip
    np.testing.assert_allclose(counts[0], counts[1], atol=1e-10)


def symmetry_flips(kpoints):
    """Whether the operation that makes each full point exchanges the spins."""
    return kpoints.symmetry.spin_flip_o[kpoints.operation_of_full]


def test_highest_band_is_warned_of():
    eig_skn, tetrahedra = waves(bands=2)
    assert "Set NBANDS" in filled(eig_skn, tetrahedra, 3.7, -5).warnings[0]


def test_no_tetrahedra_no_tetrahedron_method():
    with pytest.raises(InputError, match="ISMEAR = -5 needs tetrahedra"):
        make_smearing(-5)


@pytest.mark.slow
def test_many_tetrahedra_take_no_time():
    """100 000 tetrahedra and 20 bands: a loop over either would take minutes."""
    eig_skn, tetrahedra = waves((26, 26, 26), bands=20)
    assert len(tetrahedra.weight_T) > 100_000
    started = time.perf_counter()
    assert electrons_in(filled(eig_skn, tetrahedra, 21.3, -5), tetrahedra) == pytest.approx(21.3, abs=1e-9)
    assert time.perf_counter() - started < 60


# --- another code -----------------------------------------------------------------------------------------------------


def vasp_run(folder):
    """Tetrahedra, energies, occupations, Fermi level and density of states of a vasprun.xml that VASP wrote."""
    root = ElementTree.parse(folder / "vasprun.xml").getroot()

    def rows(element):
        return np.array([row.text.split() for row in element], dtype=float)

    listed = rows(root.find("kpoints//varray[@name='tetrahedronlist']")).astype(int)
    weight_k = rows(root.find("kpoints/varray[@name='weights']"))[:, 0]
    last = root.findall("calculation")[-1]
    states = np.array([[rows(point) for point in spin] for spin in last.find("eigenvalues/array/set")])
    dos = np.array([rows(spin) for spin in last.find("dos/total/array/set")])
    level = float(last.find("dos/i[@name='efermi']").text)
    electrons = float(next(entry.text for entry in root.iter("i") if entry.get("name") == "NELECT"))
    tetrahedra = Tetrahedra(listed[:, 1:] - 1, listed[:, 0] / listed[:, 0].sum())
    return tetrahedra, weight_k, states[..., 0], states[..., 1], level, electrons, dos


@pytest.mark.parametrize("case", ["li_relax", "fe_spin", "si_static", "lih_r2scan"])
def test_occupations_and_states_are_those_of_vasp(shared_dir, case):
    """ISMEAR = -5, VASP 5.2 to 6.1, from its own energies and tetrahedra, to the digits that it prints.

    VASP leaves degenerate bands the weights that they happen to get; their mean is compared.
    """
    tetrahedra, weight_k, eig_skn, occ_skn, level, electrons, dos = vasp_run(
        shared_dir / "reference" / "vasp_outputs" / case
    )
    np.testing.assert_allclose(tetrahedra.weight_of_points(len(weight_k)), weight_k, atol=1e-8)
    found = occupations(
        torch.from_numpy(eig_skn), torch.from_numpy(weight_k), electrons, make_smearing(-5, None, tetrahedra), 0.0, 1.0
    )
    np.testing.assert_allclose(found.occ_skn.numpy(), shared_by_degenerate(eig_skn, occ_skn), atol=1.2e-4)
    if case in ("li_relax", "fe_spin"):  # of an insulator VASP prints the highest level
        assert found.fermi_level == pytest.approx(level, abs=1e-4)
    _, integrated_sx = density_of_states(TetrahedronCounting(tetrahedra), eig_skn, dos[0, :, 0])
    np.testing.assert_allclose(integrated_sx, dos[..., 2], atol=2e-4)
