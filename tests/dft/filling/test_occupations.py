"""Occupations: closed forms, the variational entropy, another code's numbers, and what is refused."""

import json
import math

import numpy as np
import pytest
import torch

from eigenwerk.dft.after.band_gap import band_gap
from eigenwerk.dft.filling.occupations import Smearing, SmearingKind, make_smearing, occupations
from eigenwerk.errors import InputError

SMEARINGS = {
    "fermi-dirac": make_smearing(-1),
    "gaussian": make_smearing(0),
    "paxton-1": make_smearing(1),
    "paxton-2": make_smearing(2),
    "paxton-5": make_smearing(5),
}
every_smearing = pytest.mark.parametrize("smearing", SMEARINGS.values(), ids=SMEARINGS)


def tensor(values):
    return torch.tensor(values, dtype=torch.float64)


def metal(spins=1, points=20, bands=8):
    """Random overlapping bands with uneven weights, in a band about 0.5 hartree wide."""
    generator = torch.Generator().manual_seed(7)
    eig_skn = torch.rand(spins, points, bands, generator=generator, dtype=torch.float64) * 0.5
    weight_k = torch.rand(points, generator=generator, dtype=torch.float64) + 0.1
    return eig_skn.sort(dim=2)[0], weight_k / weight_k.sum()


def count(result, weight_k, spin_degeneracy):
    return spin_degeneracy * math.fsum((result.occ_skn * weight_k[:, None]).flatten().tolist())


# --- the functions ----------------------------------------------------------------------------------------------------


def test_fractions_are_the_closed_forms():
    x = tensor([-2.0, -0.3, 0.0, 0.7, 3.0])
    gauss, bell = torch.exp(-(x**2)) / math.sqrt(math.pi), 0.5 * torch.erfc(x)
    torch.testing.assert_close(make_smearing(-1).fraction(x), 1.0 / (torch.exp(x) + 1.0))
    torch.testing.assert_close(make_smearing(0).fraction(x), bell)
    torch.testing.assert_close(make_smearing(1).fraction(x), bell - 0.5 * x * gauss)
    second = bell - 0.5 * x * gauss + (8.0 * x**3 - 12.0 * x) * gauss / 32.0
    torch.testing.assert_close(make_smearing(2).fraction(x), second)


@every_smearing
def test_fraction_runs_from_one_to_zero_without_overflow(smearing):
    x = tensor([-1e12, -40.0, 0.0, 800.0, 1e12])
    torch.testing.assert_close(smearing.fraction(x), tensor([1.0, 1.0, 0.5, 0.0, 0.0]), rtol=0.0, atol=1e-15)
    torch.testing.assert_close(smearing.entropy(x[[0, 1, 3, 4]]), torch.zeros_like(x[:4]), rtol=0.0, atol=1e-15)


@every_smearing
def test_entropy_makes_the_free_energy_stationary(smearing):
    """d(-TS)/df = -(e - mu), so that dF/df_n = mu for every state: ds/dx = -x df/dx with s = -TS / width."""
    x = torch.linspace(-3.5, 3.5, 41, dtype=torch.float64, requires_grad=True)
    (entropy_slope,) = torch.autograd.grad(smearing.entropy(x).sum(), x)
    (fraction_slope,) = torch.autograd.grad(smearing.fraction(x).sum(), x)
    torch.testing.assert_close(entropy_slope, -x.detach() * fraction_slope, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("order", [1, 2, 4])
def test_paxton_step_keeps_polynomials(order):
    """int p(x) (-df/dx) dx = p(0) for polynomials up to degree 2 N + 1, the property the expansion is made for."""
    x = torch.linspace(-12.0, 12.0, 4001, dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(make_smearing(order).fraction(x).sum(), x)
    for power in range(2 * order + 2):
        moment = -torch.trapezoid(x.detach() ** power * slope, x.detach())
        assert float(moment) == pytest.approx(1.0 if power == 0 else 0.0, abs=1e-9)


def test_extrapolation_factors():
    assert [make_smearing(ismear).extrapolation_factor for ismear in (-1, 0, 1, 2)] == [1 / 2, 1 / 2, 1 / 3, 1 / 4]


# --- the Fermi level --------------------------------------------------------------------------------------------------


@every_smearing
@pytest.mark.parametrize("width", [1e-7, 1e-3, 0.02])
@pytest.mark.parametrize("electrons", [0.3, 5.0, 7.77])
def test_the_number_of_electrons_is_exact(smearing, width, electrons):
    eig_skn, weight_k = metal()
    result = occupations(eig_skn - 30.0, weight_k, electrons, smearing, width, 2.0)
    assert count(result, weight_k, 2.0) == pytest.approx(electrons, abs=1e-12)


@every_smearing
def test_a_shift_of_the_energies_shifts_the_level(smearing):
    eig_skn, weight_k = metal(spins=2)
    one = occupations(eig_skn, weight_k, 5.0, smearing, 0.01, 1.0)
    other = occupations(eig_skn - 2.0, weight_k, 5.0, smearing, 0.01, 1.0)
    assert other.fermi_level == pytest.approx(one.fermi_level - 2.0, abs=1e-13)
    assert other.entropy_term == pytest.approx(one.entropy_term, abs=1e-13)


@every_smearing
def test_energy_at_fixed_count_has_the_level_as_derivative(smearing):
    """dF/dN = mu, F = sum e f - TS."""
    eig_skn, weight_k = metal()

    def free_energy(electrons):
        result = occupations(eig_skn, weight_k, electrons, smearing, 0.02, 2.0)
        return 2.0 * float((result.occ_skn * eig_skn).sum((0, 2)) @ weight_k) + result.entropy_term

    level = occupations(eig_skn, weight_k, 6.0, smearing, 0.02, 2.0).fermi_level
    slope = (free_energy(6.0 + 1e-4) - free_energy(6.0 - 1e-4)) / 2e-4
    assert slope == pytest.approx(level, abs=1e-7)


@pytest.mark.parametrize(("name", "power"), [("fermi-dirac", 2), ("gaussian", 2), ("paxton-1", 4), ("paxton-2", 6)])
def test_zero_width_energy_is_closer_than_both_others(name, power):
    """A parabolic band in three dimensions: F(width) = E0 + c width^power, so -TS = width dF/dwidth = power (F - E0).

    So 1/2 is exact to leading order for Fermi-Dirac and Gaussian; 1/(N + 2) of Methfessel and Paxton is an improvement.
    """
    k = torch.linspace(0.0, 1.2, 6001, dtype=torch.float64)
    weight_k = k**2 / (k**2).sum()
    eig_skn = (k**2).reshape(1, -1, 1)

    def energies(width):
        result = occupations(eig_skn, weight_k, 0.3, SMEARINGS[name], width, 2.0)
        internal = 2.0 * float((result.occ_skn[0, :, 0] * eig_skn[0, :, 0]) @ weight_k)
        return internal, internal + result.entropy_term, result

    exact = energies(0.002)[0]
    internal, free, result = energies(0.03)
    assert (free - exact) / result.entropy_term == pytest.approx(1.0 / power, rel=0.1)
    extrapolated = free + result.zero_width_correction
    assert abs(extrapolated - exact) < (0.1 if power == 2 else 0.8) * min(abs(internal - exact), abs(free - exact))


@every_smearing
@pytest.mark.parametrize("width", [1e-6, 1e-3])
def test_an_insulator_has_its_level_in_the_middle_of_the_gap(smearing, width):
    eig_skn = tensor([[[-0.3, 0.1, 0.3, 0.6], [-0.25, 0.05, 0.25, 0.7]]])
    result = occupations(eig_skn, tensor([0.25, 0.75]), 4.0, smearing, width, 2.0)
    assert result.fermi_level == pytest.approx(0.5 * (0.1 + 0.25), abs=1e-14)
    assert torch.equal(result.occ_skn.round(), result.occ_skn.new_tensor([[[1, 1, 0, 0], [1, 1, 0, 0]]]))
    assert result.entropy_term == pytest.approx(0.0, abs=1e-14)


def test_weights_that_miss_one_by_rounding_do_not_move_the_level():
    eig_skn = tensor([[[-0.3, 0.3], [-0.25, 0.25], [-0.2, 0.5]]])
    result = occupations(eig_skn, tensor([0.3333333, 0.3333333, 0.3333333]), 2.0, make_smearing(0), 1e-4, 2.0)
    assert result.fermi_level == pytest.approx(0.025, abs=1e-14)


def test_points_of_zero_weight_do_not_move_the_level():
    eig_skn = tensor([[[-0.3, 0.3], [-0.25, 0.25], [0.1, 0.12]]])
    result = occupations(eig_skn, tensor([0.5, 0.5, 0.0]), 2.0, make_smearing(0), 1e-4, 2.0)
    assert result.fermi_level == pytest.approx(0.0, abs=1e-14)


@every_smearing
@pytest.mark.parametrize("width", [1e-9, 1e-3])
def test_a_degenerate_level_is_shared_equally(smearing, width):
    """One electron in a p level far from zero, at a width below the spacing of doubles at that energy times 1e7."""
    eig_skn = tensor([[[-50.0, -20.1, -20.1, -20.1, 0.0]], [[-50.0, -20.0, -20.0, -20.0, 0.0]]])
    result = occupations(eig_skn, tensor([1.0]), 3.0, smearing, width, 1.0)
    torch.testing.assert_close(result.occ_skn[0, 0], tensor([1.0, 1 / 3, 1 / 3, 1 / 3, 0.0]), rtol=0.0, atol=1e-13)


@every_smearing
@pytest.mark.parametrize(("electrons", "expected"), [(0.0, 0.0), (4.0, 1.0)])
def test_empty_and_full_bands(smearing, electrons, expected):
    eig_skn = tensor([[[-0.3, 0.1], [-0.2, 0.3]]])
    result = occupations(eig_skn, tensor([0.5, 0.5]), electrons, smearing, 0.01, 2.0)
    torch.testing.assert_close(result.occ_skn, torch.full_like(eig_skn, expected), rtol=0.0, atol=1e-15)
    assert math.isfinite(result.fermi_level)


def test_of_several_paxton_levels_the_one_beside_gaussian_smearing_is_taken():
    """A narrow level below a wide gap: N(mu) of order one passes 1.02 on its hump above each edge, and before it."""
    eig_skn = tensor([[[0.0, 0.2]]])
    paxton, width = make_smearing(1), 0.01
    shifts = torch.linspace(-0.05, 0.25, 30001, dtype=torch.float64)
    excess = paxton.fraction((eig_skn.reshape(1, -1) - shifts[:, None]) / width).sum(dim=1) - 1.02
    crossings = shifts[:-1][excess[:-1] * excess[1:] < 0.0]
    assert len(crossings) > 1
    gaussian = occupations(eig_skn, tensor([1.0]), 2.04, make_smearing(0), width, 2.0).fermi_level
    nearest = float(crossings[(crossings - gaussian).abs().argmin()])
    found = occupations(eig_skn, tensor([1.0]), 2.04, paxton, width, 2.0)
    assert found.fermi_level == pytest.approx(nearest, abs=2e-5)
    assert count(found, tensor([1.0]), 2.0) == pytest.approx(2.04, abs=1e-12)


def test_a_fixed_moment_gives_two_levels():
    eig_skn, weight_k = metal(spins=2)
    result = occupations(eig_skn, weight_k, 6.0, make_smearing(-1), 0.005, 1.0, fixed_moment=1.5)
    up, down = (float(result.occ_skn[s].sum(dim=1) @ weight_k) for s in (0, 1))
    assert (up, down) == (pytest.approx(3.75, abs=1e-12), pytest.approx(2.25, abs=1e-12))
    assert result.fermi_level_s[0] > result.fermi_level_s[1] and result.fermi_level == result.fermi_level_s[0]


def test_two_equal_channels_are_one_doubly_filled(smearing=SMEARINGS["fermi-dirac"]):
    eig_skn, weight_k = metal()
    one = occupations(eig_skn, weight_k, 5.0, smearing, 0.01, 2.0)
    two = occupations(eig_skn.expand(2, -1, -1), weight_k, 5.0, smearing, 0.01, 1.0)
    assert two.fermi_level_s == (pytest.approx(one.fermi_level, abs=1e-14),) * 2
    assert two.entropy_term == pytest.approx(one.entropy_term, rel=1e-12)


# --- another code -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.fast("fd0.1")
@pytest.mark.parametrize("kind", ["fd0.1", "mp1_0.2", "mp2_0.2", "gauss0.1"])
def test_aluminium_agrees_with_gpaw(kind, shared_dir):
    """GPAW 26.7, fcc Al, 8x8x8: Fermi level, occupations, entropy and extrapolated energy from its eigenvalues."""
    hartree = 27.211386024367243  # of the reference data
    runs = json.loads((shared_dir / "reference" / "dft" / "al_fcc_pbe.json").read_text())["runs"]
    runs = [run for run in runs if run["label"].startswith(kind + "_")]
    assert len(runs) >= 2
    for run in runs:
        settings, expected = run["settings"]["occupations"], run["results"]
        smearing = make_smearing(settings.get("order", -1))
        eig_skn, weight_k = tensor(expected["eigenvalues_eV"]) / hartree, tensor(expected["ibz_weights"])
        result = occupations(eig_skn, weight_k, 3.0, smearing, settings["width"] / hartree, 2.0)
        assert result.fermi_level * hartree == pytest.approx(expected["fermi_level_eV"], abs=1e-11)
        torch.testing.assert_close(result.occ_skn, tensor(expected["occupations"]), rtol=0.0, atol=1e-11)
        assert result.entropy_term * hartree == pytest.approx(expected["energy_components_eV"]["entropy"], abs=1e-12)
        extrapolation = expected["energy_extrapolated_eV"] - expected["free_energy_eV"]
        assert result.zero_width_correction * hartree == pytest.approx(extrapolation, abs=1e-12)
        assert result.warnings == ()
        assert gap_between(eig_skn, result, expected["ibz_kpoints"]).metal


# --- fixed occupations ------------------------------------------------------------------------------------------------


def test_fixed_occupations_are_kept_and_completed():
    """Thirds written with four digits: the cell stays neutral to the last digit."""
    eig_skn = tensor([[[-1.0, -0.2, -0.2, -0.2, 0.5]] * 2])
    smearing = make_smearing(-2, [[1.0, 0.33333, 0.33333, 0.33333, 0.0]])
    result = occupations(eig_skn, tensor([0.5, 0.5]), 4.0, smearing, -1.0, 2.0)
    torch.testing.assert_close(result.occ_skn[0, 1], tensor([1.0, 1 / 3, 1 / 3, 1 / 3, 0.0]), rtol=0.0, atol=1e-15)
    assert (result.entropy_term, result.zero_width_correction) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("fixed", "message"),
    [
        ([[1.0, 1.0, 0.0]], "FERWE has 3 values, but NBANDS = 4"),
        ([[1.0, 1.0, 1.0, 0.0]], "hold 6.000000 electrons, but there are 4"),
        ([[1.0, 0.6, 0.6, 0.0]], "hold 4.400000 electrons, but there are 4"),
        ([[2.0, 0.0, 0.0, 0.0]], "FERWE = 2 is outside 0 to 1"),
        ([[1.0, 1.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0]], "for 2 spin channels, but the calculation has 1"),
    ],
)
def test_wrong_fixed_occupations_are_refused(fixed, message):
    with pytest.raises(InputError, match=message):
        occupations(tensor([[[-1.0, -0.5, 0.0, 0.5]]]), tensor([1.0]), 4.0, make_smearing(-2, fixed), 0.01, 2.0)


# --- refusals and warnings --------------------------------------------------------------------------------------------


def test_impossible_requests_are_refused_with_numbers_and_a_remedy():
    eig_skn, weight_k = metal(bands=4)
    gaussian = make_smearing(0)
    with pytest.raises(InputError, match=r"NBANDS = 4, but 10 electrons need at least 5 bands\. Set NBANDS = 8"):
        occupations(eig_skn, weight_k, 10.0, gaussian, 0.01, 2.0)
    with pytest.raises(InputError, match=r"width is -0\.01 hartree; it must be positive"):
        occupations(eig_skn, weight_k, 4.0, gaussian, -0.01, 2.0)
    with pytest.raises(InputError, match="NUPDOWN = 1 needs two spin channels"):
        occupations(eig_skn, weight_k, 4.0, gaussian, 0.01, 2.0, fixed_moment=1.0)
    pair_skn = eig_skn.expand(2, -1, -1)
    with pytest.raises(InputError, match="NUPDOWN = 4 puts 5 electrons into one spin channel, but NBANDS = 4"):
        occupations(pair_skn, weight_k, 6.0, gaussian, 0.01, 1.0, fixed_moment=4.0)
    with pytest.raises(InputError, match="NUPDOWN = 7 is more than the 6 electrons"):
        occupations(pair_skn, weight_k, 6.0, gaussian, 0.01, 1.0, fixed_moment=7.0)
    with pytest.raises(InputError, match="ISMEAR = -3 is not a smearing"):
        make_smearing(-3)
    with pytest.raises(InputError, match="ISMEAR = -2 needs the occupation of every band"):
        make_smearing(-2)


def test_an_occupied_highest_band_is_reported():
    eig_skn, weight_k = metal(bands=3)
    (warning,) = occupations(eig_skn, weight_k, 5.0, make_smearing(0), 0.01, 2.0).warnings
    assert "The highest of 3 bands has occupation" in warning and "Set NBANDS = 6" in warning
    assert occupations(eig_skn - 1.0 * (eig_skn < 0.1), weight_k, 0.1, make_smearing(0), 0.01, 2.0).warnings == ()


# --- band gap ---------------------------------------------------------------------------------------------------------

POINTS = [[0.0, 0.0, 0.0], [0.5, 0.0, 0.0], [0.5, 0.5, 0.0]]


def gap_of(eig_skn, electrons, spin_degeneracy=2.0, width=1e-4, **more):
    weight_k = torch.full((eig_skn.shape[1],), 1.0 / eig_skn.shape[1], dtype=torch.float64)
    result = occupations(eig_skn, weight_k, electrons, make_smearing(-1), width, spin_degeneracy, **more)
    return gap_between(eig_skn, result, POINTS)


def gap_between(eig_skn, result, points):
    return band_gap(eig_skn.numpy(), result.occ_skn.numpy(), np.array(points), result.fermi_level_s)


def test_indirect_gap_and_its_edges():
    gap = gap_of(tensor([[[-0.3, 0.10, 0.40], [-0.35, 0.02, 0.25], [-0.4, 0.05, 0.29]]]), 4.0)
    assert not gap.metal
    assert gap.gap == pytest.approx(0.15) and gap.direct_gap == pytest.approx(0.23)
    assert (gap.top.kpoint, gap.top.band, gap.top.point_c) == (1, 2, (0.0, 0.0, 0.0))
    assert (gap.bottom.kpoint, gap.bottom.band, gap.bottom.point_c) == (2, 3, (0.5, 0.0, 0.0))
    assert (gap.direct_at.kpoint, gap.direct_at.band) == (2, 2) and not gap.is_direct


def test_crossing_bands_are_a_metal():
    gap = gap_of(tensor([[[-0.3, 0.1], [-0.2, 0.3], [0.15, 0.5]]]), 2.0)
    assert gap.metal and gap.gap == 0.0 and gap.top is None


def test_a_level_filled_in_part_is_a_metal():
    assert gap_of(tensor([[[-1.0, 0.0, 0.0, 0.0, 0.5]]]), 4.0).metal


def test_electrons_that_do_not_fill_whole_bands_are_a_metal():
    """Aluminium at one k-point: half a band of electrons in three levels far above the first; half an electron of spin
    asked for in a molecule.  Smearing across a gap takes from one k-point what it gives to another."""
    point_kc, levels = np.zeros((1, 3)), np.array([[[-4.0, 19.0, 19.0, 19.0, 30.0]]])
    occ = np.array([[[1.0, 0.1666, 0.1666, 0.1666, 0.0]]])
    assert band_gap(levels, occ, point_kc, [10.0]).metal
    spins = np.array([[[-4.0, 1.0, 5.0]], [[-4.0, 1.0, 5.0]]])
    assert band_gap(spins, np.array([[[1.0, 1.0, 0.25]], [[1.0, 0.75, 0.0]]]), point_kc, [3.0, 2.0]).metal
    across = np.array([[[1.0, 0.8, 0.0], [1.0, 1.0, 0.2]]])
    found = band_gap(np.array([[[-4.0, -0.1, 1.0], [-4.0, -1.0, 0.1]]]), across, np.zeros((2, 3)), [0.0])
    assert not found.metal and found.gap == pytest.approx(0.2)


def test_smearing_of_the_size_of_the_gap_does_not_hide_it():
    gap = gap_of(tensor([[[-0.30, 0.10, 0.13], [-0.35, 0.05, 0.2]]]), 4.0, width=0.02)
    assert not gap.metal and gap.gap == pytest.approx(0.03)


def test_gap_between_spin_channels():
    eig_skn = tensor([[[-0.5, 0.0, 0.4]], [[-0.45, 0.2, 0.5]]])
    gap = gap_of(eig_skn, 3.0, spin_degeneracy=1.0)
    assert (gap.top.spin, gap.bottom.spin) == (1, 2) and gap.gap == pytest.approx(0.2)
    assert gap.direct_gap == pytest.approx(0.4) and gap.direct_at.spin == 1
    # Moment forced the other way round: the highest filled state lies above the lowest empty one.
    assert gap_of(eig_skn, 3.0, spin_degeneracy=1.0, fixed_moment=-1.0).metal


def test_without_empty_bands_there_is_no_gap_to_report():
    gap = gap_of(tensor([[[-0.5, 0.0]]]), 4.0)
    assert not gap.metal and gap.gap is None and gap.bottom is None and gap.top.energy == 0.0


def test_smearing_describes_itself():
    assert make_smearing(3) == Smearing(SmearingKind.METHFESSEL_PAXTON, 3)
    assert make_smearing(0).kind is SmearingKind.GAUSSIAN and make_smearing(-1).kind is SmearingKind.FERMI_DIRAC
