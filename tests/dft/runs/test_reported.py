"""Small inputs that strangers' reports led to; `reference/reported/README.md` says what is right and how it is known.

Others of them: test_meshes, test_default_bands, open_shells/test_lower_states, filling/test_fermi_level,
tests/ncci/test_reported.
"""

import shutil

import numpy as np
import pytest

from eigenwerk.dft.inputs.inputs import read_inputs
from eigenwerk.dft.runs.run import run_inputs
from eigenwerk.io.vasp.volumetric import read_volumetric


@pytest.fixture
def reported(shared_dir):
    return shared_dir / "reference" / "reported"


def ended(folder, target=None):
    """The result of a run; without a target nothing is written."""
    inputs = read_inputs(folder) if target is None else read_inputs(folder, target)
    result = run_inputs(inputs, *([] if target is None else [target]), threads=1, in_memory=target is None)
    assert result.converged, result.status
    return result


ACCEPTED = ["empty_wavecar", "kpoints_minus_one", "nve_mdalgo2", "precfock_n", "wavecar_ispin1"]


@pytest.mark.parametrize("name", ACCEPTED)
def test_what_other_programs_accept_is_accepted(reported, name):
    read_inputs(reported / name).raise_on_errors()


def test_a_mesh_may_be_announced_by_a_negative_number_and_hydrogen_be_heavy(reported):
    inputs = read_inputs(reported / "kpoints_minus_one")
    assert inputs.kpoints.mesh == (3, 3, 3)
    assert "H" in inputs.poscar.symbols and "D" not in inputs.poscar.symbols
    assert inputs.incar.values["POMASS"] == (15.999, 2.014)


def test_u_on_a_shell_that_another_species_has_open_is_a_warning(reported):
    words = [str(one) for one in read_inputs(reported / "u_on_oxygen_d").problems if one.severity == "warning"]
    assert any("LDAUL" in text and "Ni" in text for text in words), words


def test_a_list_that_is_a_coarse_mesh_has_the_warning_of_the_mesh(reported, tmp_path):
    def words(folder):
        return [one.message for one in read_inputs(folder).problems if "too low" in one.message]

    listed = words(reported / "hse_list_coarse")
    shutil.copytree(reported / "hse_list_coarse", tmp_path / "mesh", copy_function=shutil.copyfile)
    (tmp_path / "mesh").chmod(0o755)
    (tmp_path / "mesh" / "KPOINTS").write_text("mesh\n0\nGamma\n2 2 2\n")
    assert listed and listed == words(tmp_path / "mesh")


@pytest.mark.slow
def test_hybrids_end_on_an_operator_that_was_measured(reported, tmp_path):
    """Within EDIFF (1E-7) of a run to 1E-9; an extrapolation by shares of 22 ended 380 times as far away."""
    shutil.copytree(reported / "hse_extrapolation", tmp_path / "finer", copy_function=shutil.copyfile)
    (tmp_path / "finer").chmod(0o755)
    incar = tmp_path / "finer" / "INCAR"
    incar.write_text(incar.read_text().replace("EDIFF = 1E-7", "EDIFF = 1E-9"))
    finer = ended(tmp_path / "finer").free_energy
    assert ended(reported / "hse_extrapolation").free_energy == pytest.approx(finer, abs=1e-7)


@pytest.mark.slow
def test_opposite_moments_of_parted_hydrogen(reported):
    """-2.13939 eV with PREC = Accurate; -2.08717 with the density cut off at 1.5 G_cut."""
    found = ended(reported / "afm_h2_prec")
    assert found.free_energy == pytest.approx(-2.13939, abs=1e-4)
    assert found.moment == pytest.approx(0.0, abs=1e-6)


@pytest.mark.slow
def test_the_plateau_of_a_dipole_in_a_box_is_flat(reported, tmp_path):
    ended(reported / "hf_dipole", tmp_path)
    _, field = read_volumetric(tmp_path / "LOCPOT")
    level_z = field.blocks[0].value_R.mean((0, 1))
    height_z = 14 * np.arange(len(level_z)) / len(level_z)
    for low, high in ((1.0, 3.0), (11.0, 13.0)):  # on either side; the saw falls at 0
        assert np.ptp(level_z[(height_z > low) & (height_z < high)]) < 1e-3


@pytest.mark.slow
def test_bands_of_pbe0_on_a_list_are_those_of_its_mesh(reported):
    """The values of KPOINTS G 2 2 2 with KPOINTS_OPT: the top at Gamma, a light hole at (0.02 0.02 0), X."""
    eig_kn = ended(reported / "pbe0_list_bands").eig_skn[0]
    assert [eig_kn[3, 3], eig_kn[5, 1], eig_kn[10, 3]] == pytest.approx([4.6348, 4.5955, 1.5809], abs=2e-4)
