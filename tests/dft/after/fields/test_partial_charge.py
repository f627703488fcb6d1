"""PARCHG: the bands that are chosen, the electrons they hold, and all of them together as the whole density."""

import numpy as np
import pytest

from eigenwerk.dft.after.fields.charge import charge_blocks
from eigenwerk.dft.after.fields.partial_charge import chosen_orbitals, partial_charges
from eigenwerk.dft.inputs.steps.field_files import BandSelection, band_selection, sums_over_path, wanted_fields
from eigenwerk.errors import InputError
from eigenwerk.io.vasp.input.incar import parse_incar


@pytest.fixture(scope="module")
def silicon(calculation, crystal):
    calc = calculation(crystal("si"), mesh=(2, 2, 2), symmetry_level=2, real=True, sigma_eV=0.01)
    return calc, calc.run().state


def charges(silicon, selection):
    calc, state = silicon
    return partial_charges(state, calc.atoms, calc.symmetrise, selection)


def test_filled_bands_together_are_the_density(silicon):
    calc, state = silicon
    found = charges(silicon, BandSelection(bands=(0, 1, 2, 3)))
    assert list(found) == ["PARCHG"]
    (block,) = found["PARCHG"].blocks
    (whole,) = charge_blocks(state.output, calc.atoms, 0)
    np.testing.assert_allclose(block.value_R, whole.value_R, atol=1e-8)
    assert not block.occupancies


def test_each_band_holds_two_electrons_and_they_add_up(silicon):
    parts = charges(silicon, BandSelection(bands=(0, 1, 2, 3), per_band=True))
    assert list(parts) == [f"PARCHG.{band:04d}.ALLK" for band in (1, 2, 3, 4)]
    for part in parts.values():
        assert part.blocks[0].value_R.mean() == pytest.approx(2, abs=1e-8)
    (whole,) = charges(silicon, BandSelection(bands=(0, 1, 2, 3)))["PARCHG"].blocks
    np.testing.assert_allclose(sum(p.blocks[0].value_R for p in parts.values()), whole.value_R, atol=1e-8)


def test_k_points_apart(silicon):
    parts = charges(silicon, BandSelection(bands=(3,), points=(0, 2), per_band=True, per_point=True))
    assert list(parts) == ["PARCHG.0004.0001", "PARCHG.0004.0003"]
    assert all(part.blocks[0].value_R.mean() == pytest.approx(2, abs=1e-8) for part in parts.values())


def test_windows_are_absolute_or_from_the_fermi_level(silicon):
    _, state = silicon
    level = state.occupations.fermi_level * 27.211386245988
    relative = chosen_orbitals(state, BandSelection(window=(-5.0, 0.0), relative=True))
    absolute = chosen_orbitals(state, BandSelection(window=(level - 5.0, None)))
    assert (relative == absolute).all() and 0 < relative.sum() < relative.numel()
    assert not relative[..., 4:].any()


@pytest.mark.parametrize(("text", "expected"), [
    ("IBAND = 2 4 2", BandSelection(bands=(1, 3))),
    ("NBMOD = -3\nEINT = -1 0.5", BandSelection(window=(-1.0, 0.5), relative=True)),
    ("EINT = 3", BandSelection(window=(3.0, None))),
    ("NBMOD = 0\nLSEPB = T\nLSEPK = T\nKPUSE = 1", BandSelection(points=(0,), per_band=True, per_point=True)),
])  # fmt: skip
def test_tags_say_what_is_chosen(text, expected):
    assert band_selection(parse_incar(f"LPARD = T\n{text}\n"), 8, 3) == expected


@pytest.mark.parametrize(("text", "words"), [
    ("", "needs bands"), ("IBAND = 9", "IBAND has 9, and NBANDS is 8"), ("IBAND = 1\nKPUSE = 4", "k-points is 3"),
    ("EINT = 2 1", "expected one energy"), ("IBAND = 0", "IBAND has 0"),
    ("NBMOD = 0\nLSEPB = T\nLSEPK = T", "up to 128 files"),
])  # fmt: skip
def test_choices_that_are_not_there_are_refused(text, words):
    with pytest.raises(InputError, match=words):
        band_selection(parse_incar(f"LPARD = T\n{text}\n"), 8, 16 if "LSEPK" in text else 3)
    assert band_selection(parse_incar(text), 8, 3) is None


def test_of_a_density_that_is_kept_a_sum_over_a_path_is_told():
    kept = parse_incar("ICHARG = 11\nLPARD = T\nIBAND = 1\nLVHAR = T\nLELF = T\n")
    told = sums_over_path(kept, sampled=False)
    assert [problem.tag for problem in told] == ["LELF"] and told[0].severity == "warning"
    assert sums_over_path(kept, sampled=True) == sums_over_path(parse_incar("LELF = T\n"), sampled=False) == []
    assert "LOCPOT" in wanted_fields(kept) and "CHGCAR" not in wanted_fields(kept)
