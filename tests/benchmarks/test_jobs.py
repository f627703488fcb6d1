"""The reference jobs: their folders are those that were measured, and what the table of jobs promises."""

import argparse
import runpy
import sys

import numpy as np
import pytest

from covering import but_slow
from eigenwerk.dft.inputs.inputs import read_inputs

SIZES = {
    # name: atoms, electrons, bands, irreducible k-points, orbital grid
    "si255_vacancy": (255, 1020, 640, 1, (96, 96, 96)),
    "b_hr105": (105, 315, 256, 1, (56, 56, 56)),
    "pdo4": (348, 3288, 2048, 1, (90, 80, 140)),
    "pdo2": (174, 1644, 1024, 1, (48, 80, 140)),
    "gaasbi_64": (64, 266, 192, 36, (70, 70, 70)),
    "cuc_vdw": (98, 1064, 640, 5, (70, 70, 210)),
    "si127_defect": (127, 508, 320, 1, (70, 70, 70)),
    "hfo2_96": (96, 768, 512, 8, (60, 60, 64)),
    "hfo2_216": (216, 1728, 1280, 8, (90, 90, 64)),
    "hfo2_324": (324, 2592, 1792, 8, (90, 90, 96)),
    "hfo2_576": (576, 4608, 3072, 8, (120, 120, 96)),
    "hfo2_768": (768, 6144, 3840, 8, (120, 120, 128)),
    "h256_md": (256, 256, 264, 1, (84, 84, 140)),
    "si512": (512, 2048, 1152, 1, (100, 100, 100)),
}


@pytest.fixture(scope="module")
def script(repository):
    folder = str(repository / "benchmarks" / "jobs")
    sys.path.insert(0, folder)
    try:
        yield runpy.run_path(folder + "/make_jobs.py")
    finally:
        sys.path.remove(folder)
        sys.modules.pop("crystals", None)


@pytest.fixture(scope="module")
def made(script, tmp_path_factory):
    """The folder of all jobs."""
    into = tmp_path_factory.mktemp("jobs")
    for job in script["JOBS"]:
        script["write_job"](job, into)
    return into


def test_the_script_makes_the_folders_that_were_measured(script, made, check_made):
    assert [job.name for job in script["JOBS"]] == list(SIZES)
    check_made("jobs", made)


@pytest.mark.slow
def test_a_job_is_made_where_it_is_asked_for_by_name(repository, made, tmp_path):
    tool = runpy.run_path(str(repository / "benchmarks" / "vasp_folders.py"))
    folder = tool["folder_or_job"]("b_hr105")
    assert folder == repository / "build" / "jobs" / "b_hr105"
    assert sorted(path.name for path in folder.iterdir()) == ["INCAR", "KPOINTS", "POSCAR"]
    assert (folder / "INCAR").read_text() == (made / "b_hr105" / "INCAR").read_text()
    assert tool["folder_or_job"](str(tmp_path)) == tmp_path
    with pytest.raises(argparse.ArgumentTypeError, match="there is no pdo5; there are si255_vacancy, b_hr105"):
        tool["folder_or_job"]("pdo5")


@pytest.mark.fast("gaasbi_64", "hfo2_96", "b_hr105", "si127_defect")
@pytest.mark.parametrize("name", but_slow(tuple(SIZES), "si512"))
def test_jobs_are_ready_to_run_and_have_the_promised_size(made, name):
    inputs = read_inputs(made / name)
    assert [str(problem) for problem in inputs.errors] == []
    size = inputs.size
    found = size.atoms, inputs.parameters.electrons, size.bands, size.kpoints, inputs.grids.wave
    assert found == SIZES[name]


@pytest.mark.fast("hfo2_96-*", "b_hr105-*", "si127*")
@pytest.mark.parametrize(
    ("name", "spacegroup"),
    [("b_hr105", "R-3m (166)"), ("hfo2_96", "P2_1/c (14)"), ("si512", "Fd-3m (227)"), ("si127_defect", "F-43m (216)")],
)
def test_crystals_have_their_space_groups(made, name, spacegroup):
    assert read_inputs(made / name).symmetry.spacegroup == spacegroup


@pytest.mark.fast("pdo2-*")
@pytest.mark.parametrize(
    ("name", "one", "other", "bond"),
    [("pdo2", "Pd", "O", 2.12), ("h256_md", "H", "H", 0.741), ("cuc_vdw", "C", "C", 1.35)],
)
def test_shortest_bonds(made, name, one, other, bond):
    poscar = read_inputs(made / name).poscar
    first, second = (np.array([symbol == wanted for symbol in poscar.symbols]) for wanted in (one, other))
    offset = poscar.scaled_ac[first][:, None] - poscar.scaled_ac[second]
    distance = np.linalg.norm((offset - np.round(offset)) @ poscar.lattice_cv, axis=2)
    assert distance[distance > 0.1].min() == pytest.approx(bond, abs=0.01)
