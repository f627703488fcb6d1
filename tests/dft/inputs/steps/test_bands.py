"""Which bands a folder asks for besides those of its own points."""

import numpy as np
import pytest

from eigenwerk.dft.inputs.inputs import read_inputs

POSCAR = "Si\n5.43\n0 .5 .5\n.5 0 .5\n.5 .5 0\nSi\n2\nDirect\n0 0 0\n.25 .25 .25\n"
MESH = "mesh\n0\nGamma\n2 2 2\n"
PATH = "p\n10\nLine\nrec\n0 0 0\n.5 0 0\n"


@pytest.fixture
def read(tmp_path):
    """A function from the texts of the files to `Inputs`."""

    def build(INCAR="ISMEAR = 0\nSIGMA = 0.05\n", KPOINTS=MESH, **others):
        for name, text in {"INCAR": INCAR, "POSCAR": POSCAR, "KPOINTS": KPOINTS, **others}.items():
            (tmp_path / name).write_text(text)
        return read_inputs(tmp_path)

    return build


def said(inputs, severity):
    return "\n".join(str(problem) for problem in inputs.problems if problem.severity == severity)


def test_a_folder_asks_for_no_bands_unless_it_does(read):
    inputs = read()
    assert not inputs.bands and inputs.bands.lists == () and not inputs.fixed_density


@pytest.mark.parametrize(
    ("files", "source", "points"),
    [
        ({"KPOINTS_OPT": PATH}, "path of 1 line in KPOINTS_OPT", 10),
        ({"KPOINTS_OPT": MESH}, "Gamma-centred 2 x 2 x 2 mesh", 3),
        ({"KPOINTS_OPT": "l\n2\nR\n0 0 0 0 G\n.5 0 0 0\n"}, "list of 2 points in KPOINTS_OPT", 2),
        ({"INCAR": "KSPACING_OPT = 1"}, "Gamma-centred 3 x 3 x 3 mesh", 4),
        ({"INCAR": "LKPOINTS_OPT = .TRUE."}, "Gamma-centred 5 x 5 x 5 mesh", 10),
    ],
)
def test_a_second_list_may_have_any_form(read, files, source, points):
    (kpoints,) = read(**files).bands.lists
    assert kpoints.source == source and len(kpoints.point_kc) == points


def test_a_second_list_can_be_switched_off(read):
    inputs = read(INCAR="LKPOINTS_OPT = .FALSE.", KPOINTS_OPT=PATH)
    assert not inputs.bands and "KPOINTS_OPT: not used" in said(inputs, "note")


def test_points_of_weight_zero_are_told_from_the_others(read):
    inputs = read(KPOINTS="l\n4\nRec\n0 0 0 1\n.1 0 0 0 ! A\n.5 0 0 3\n.2 .1 0 0\n")
    np.testing.assert_allclose(inputs.kpoints.weight_k, [0.25, 0.75])
    weightless = inputs.bands.weightless
    assert weightless.place_k.tolist() == [1, 3] and weightless.kpoints.label_k == ("A", "")
    np.testing.assert_allclose(weightless.kpoints.point_kc, [[0.1, 0, 0], [0.2, 0.1, 0]])


def test_cartesian_ends_of_a_path_are_in_units_of_the_scale(read):
    inputs = read(KPOINTS_OPT=PATH.replace("rec", "cart").replace(".5 0 0", "0 0 1 X"))
    np.testing.assert_allclose(inputs.bands.second.point_kc[-1], [0.5, 0.5, 0])


def test_a_kept_density_takes_any_points(read, tmp_path):
    (tmp_path / "eigenwerk.h5").touch()
    inputs = read(INCAR="ICHARG = 11\nISTART = 1\nLVHAR = .TRUE.\nLELF = .TRUE.", KPOINTS=PATH)
    assert inputs.fixed_density and len(inputs.kpoints.point_kc) == 10 and not inputs.errors
    assert "ISTART = 1: not used with ICHARG = 11" in said(inputs, "note")
    assert said(inputs, "warning").count("of a path or list it is a sum over its k-points") == 1  # not of LVHAR
    assert {setting.tag: setting.value for setting in inputs.settings}["ICHARG"] == 11


def test_tetrahedra_know_no_paths(read, tmp_path):
    (tmp_path / "eigenwerk.h5").touch()
    inputs = read(INCAR="ICHARG = 11\nISMEAR = -5", KPOINTS=PATH)
    assert "the path of 1 line in KPOINTS has no tetrahedra" in said(inputs, "error")


def test_more_bands_than_waves_of_a_point_on_the_path_are_an_error(read):
    mesh = read(INCAR="NBANDS = 1\nENCUT = 140")
    count = mesh.parts.waves.fewest
    fits = read(INCAR=f"NBANDS = {count}\nENCUT = 140")
    assert not fits.errors
    path = read(INCAR=f"NBANDS = {count}\nENCUT = 140", KPOINTS_OPT=PATH.replace("0 0 0", ".3 .1 .2"))
    assert f"{count} bands are more than the " in said(path, "error")
