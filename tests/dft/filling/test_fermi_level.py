"""One Fermi level for both spins, where there is one, in everything that names it."""

import json
import shutil
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
import torch

from eigenwerk.dft.after.band_gap import band_gap
from eigenwerk.dft.filling.fermi_level import common_level
from eigenwerk.dft.filling.occupations import make_smearing, occupations
from eigenwerk.dft.runs.run import run_folder
from eigenwerk.view.folder import RunFolder
from when_used import when_used

Vasprun = when_used("pymatgen.io.vasp.outputs", "Vasprun")

GAMMA = np.zeros((1, 3))


def filled(levels, electrons, moment=None, width=0.01, ismear=0):
    """Levels (s, n) at one k-point, with occupations."""
    eig_skn = torch.tensor(levels, dtype=torch.float64)[:, None]
    spins = len(levels)
    made = occupations(
        eig_skn, torch.ones(1, dtype=torch.float64), electrons, make_smearing(ismear), width, 3 - spins, moment
    )
    return eig_skn.numpy(), made


def test_levels_of_both_spins_have_one_between_filled_and_empty():
    """A triplet: two levels up hold electrons, the same two down, higher by exchange, do not."""
    levels = [[-20.0, -7.0, -6.5, -1.0], [-19.0, -4.0, -3.5, 0.0]]
    eig_skn, made = filled(levels, 4, 2.0)
    assert made.fermi_level_s[0] != made.fermi_level_s[1]
    assert made.fermi_level == pytest.approx((-6.5 - 4.0) / 2)
    assert made.separate_levels == ()
    gap = band_gap(eig_skn, made.occ_skn.numpy(), GAMMA, made.fermi_level_s)
    assert gap.gap == pytest.approx(2.5) and not gap.metal
    assert band_gap(eig_skn, made.occ_skn.numpy(), GAMMA, [made.fermi_level] * 2) == gap


def test_a_moment_that_electrons_would_leave_has_two_levels():
    levels = [[-20.0, -7.0, -2.0, -1.0], [-20.0, -7.0, -2.0, -1.0]]
    eig_skn, made = filled(levels, 4, 2.0)
    assert made.common_level is None
    assert made.separate_levels == pytest.approx((-1.5, -13.5))
    assert made.fermi_level == pytest.approx(-1.5)
    assert band_gap(eig_skn, made.occ_skn.numpy(), GAMMA, made.fermi_level_s).metal


def test_a_level_filled_in_part_is_the_level_of_both_where_it_separates_them():
    """Beryllium with two electrons up: a third of each 2p state, far below all of the other spin."""
    up, down = [-6.0, -2.0, -2.0, -2.0, 0.0], [3.0, 7.0, 7.0, 7.0, 8.0]
    eig_skn, made = filled([up, down], 2, 2.0)
    assert made.fermi_level == made.fermi_level_s[0] == pytest.approx(-2.0, abs=0.01)
    gap = band_gap(eig_skn, made.occ_skn.numpy(), GAMMA, made.fermi_level_s)
    assert gap.metal and gap.partly_filled == 3
    assert filled([up, [-3.0, 7.0, 7.0, 7.0, 8.0]], 2, 2.0)[1].common_level is None
    both = filled([up, [-5.0, -2.5, -2.5, -2.5, 8.0]], 4, 0.5)[1]
    assert both.common_level is None and len(both.separate_levels) == 2


def test_levels_that_differ_by_the_error_of_self_consistency_are_one():
    """O2 with NUPDOWN = 0: both channels hold one of two equal states, and their levels differ by 1e-7 hartree."""
    up = [-1.0, -0.2, -0.2, 0.0]
    made = filled([up, [level + 3e-7 for level in up]], 4, 0.0)[1]
    assert made.fermi_level_s[0] != made.fermi_level_s[1] and made.separate_levels == ()
    assert made.fermi_level == pytest.approx(sum(made.fermi_level_s) / 2, abs=1e-12)


@pytest.mark.parametrize("moment", [None, 1.0])
def test_a_channel_without_electrons_or_empty_states_needs_no_level(moment):
    """Hydrogen: one electron up, none down."""
    _, made = filled([[-8.0, 0.0], [-4.0, 1.0]], 1, moment)
    assert made.fermi_level == pytest.approx(-6.0)
    assert common_level(np.array([[[-8.0]], [[-8.0]]]), np.ones((2, 1, 1)), (1.0, 2.0)) == 2.0


def test_fixed_occupations_have_their_level():
    eig_skn = torch.tensor([[[-3.0, -1.0, 2.0]]], dtype=torch.float64)
    made = occupations(eig_skn, torch.ones(1, dtype=torch.float64), 4, make_smearing(-2, [[1, 1, 0]]), 0.1, 2.0)
    assert (made.fermi_level, made.separate_levels) == (0.5, ())


@pytest.mark.parametrize("split", [0.0, 1e-13, 1e-8, 1e-4])
@pytest.mark.parametrize("electrons", [3, 4, 5])
def test_a_degenerate_level_filled_in_part_is_no_gap(split, electrons):
    """Three states that symmetry makes equal hold one, two electrons (or a level up holds two of three)."""
    up = [-11.0, -4.0 - split, -4.0, -4.0 + split, -0.5]
    eig_skn, made = filled([up, [-9.0, -1.0, -1.0, -1.0, 0.5]], electrons)
    gap = band_gap(eig_skn, made.occ_skn.numpy(), GAMMA, made.fermi_level_s)
    if electrons == 5:
        assert not gap.metal and gap.gap == pytest.approx(3.0 - split)
    else:
        assert gap.metal and gap.gap == 0.0 and gap.partly_filled == 3


def test_levels_that_smearing_fills_from_each_other_keep_their_gap():
    eig_skn, made = filled([[-5.0, -0.1, 0.1, 3.0]], 4, width=0.1)
    gap = band_gap(eig_skn, made.occ_skn.numpy(), GAMMA, made.fermi_level_s)
    assert gap.gap == pytest.approx(0.2) and not gap.partly_filled


def test_one_state_with_half_an_electron_is_filled_in_part():
    eig_skn, made = filled([[-5.0, 0.0, 3.0]], 3)
    gap = band_gap(eig_skn, made.occ_skn.numpy(), GAMMA, made.fermi_level_s)
    assert gap.metal and gap.partly_filled == 1


def test_degenerate_bands_of_a_crystal_are_a_metal_whatever_rounding_counts():
    eig_skn = np.array([[[-4.0, 0.0, 1e-13, 2.0], [-4.0, -1.0, 1.0, 3.0]]])
    occ_skn = np.array([[[1.0, 0.5, 0.5, 0.0], [1.0, 1.0, 0.0, 0.0]]])
    gap = band_gap(eig_skn, occ_skn, np.array([[0, 0, 0], [0.5, 0, 0]]), [0.0])
    assert gap.metal and gap.gap == 0.0 and not gap.partly_filled


@pytest.fixture(scope="module")
def hydrogen(tmp_path_factory):
    """A hydrogen molecule, and one that holds half an electron too many up: folder and result by moment."""
    made = {}
    for moment in (0, 1):
        folder = tmp_path_factory.mktemp(f"moment{moment}")
        (folder / "POSCAR").write_text("H2\n1\n5 0 0\n0 5 0\n0 0 6\nH\n2\nCartesian\n0 0 0\n0 0 .75\n")
        (folder / "KPOINTS").write_text("k\n0\nGamma\n1 1 1\n")
        incar = f"ENCUT = 150\nEDIFF = 0.01\nISMEAR = 0\nSIGMA = 0.02\nISPIN = 2\nNUPDOWN = {moment}\n"
        (folder / "INCAR").write_text(incar)
        made[moment] = folder, run_folder(folder)
    return made


@pytest.mark.slow
@pytest.mark.fast("0")
@pytest.mark.parametrize("moment", [0, 1])
def test_every_output_has_the_same_fermi_level(hydrogen, moment):
    folder, result = hydrogen[moment]
    tree = ET.parse(folder / "vasprun.xml")
    level = float(tree.find(".//dos/i[@name='efermi']").text)
    assert result.fermi_level == pytest.approx(level, abs=1e-7)
    assert float((folder / "DOSCAR").read_text().splitlines()[5].split()[3]) == pytest.approx(level, abs=1e-7)
    outcar = (folder / "OUTCAR").read_text()
    assert f"E-fermi : {level:15.8f}" in outcar
    assert json.loads(json.dumps(result.as_dict()))["fermi_level_eV"] == result.fermi_level
    assert RunFolder(Path(folder)).fermi_level == pytest.approx(level, abs=1e-7)
    own = tree.find(".//dos/v[@name='efermi_of_spins']")
    if moment == 1:  # half of the antibonding level up, half of the bonding one down
        levels = [float(x) for x in own.text.split()]
        assert levels == pytest.approx(result.separate_levels, abs=1e-7) and level == max(levels)
        assert "no level separates both" in outcar
        assert RunFolder(Path(folder)).zero == (pytest.approx(level, abs=1e-7), "higher of two Fermi levels")
        assert result.gap.metal
    else:
        assert own is None and result.separate_levels == ()
        read = Vasprun(folder / "vasprun.xml", parse_potcar_file=False)
        eig = np.concatenate([band[0] for band in read.eigenvalues.values()])
        assert eig[eig[:, 1] > 0.5, 0].max() < read.efermi < eig[eig[:, 1] < 0.5, 0].min()


@pytest.mark.slow
def test_a_triplet_is_no_metal_for_readers(shared_dir, tmp_path):
    """O2 with NUPDOWN = 2: efermi once lay above empty levels of the second spin."""
    for name in ("INCAR", "POSCAR", "KPOINTS"):
        shutil.copy(shared_dir / "reference" / "reported" / "o2_nupdown" / name, tmp_path)
    result = run_folder(tmp_path)
    assert result.gap.gap == pytest.approx(2.2637, abs=2e-3)
    read = Vasprun(tmp_path / "vasprun.xml", parse_potcar_file=False)
    for band in read.eigenvalues.values():
        assert ((band[0, :, 0] < read.efermi) == (band[0, :, 1] > 0.5)).all()
