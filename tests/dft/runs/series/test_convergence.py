"""Series of settings: what they hold, and how errors are estimated from them."""

import numpy as np
import pytest

from eigenwerk.dft.inputs.inputs import read_inputs
from eigenwerk.dft.runs.series.convergence import (
    SeriesSetting,
    SettingSeries,
    compute_series,
    cutoffs,
    meshes,
    remarks,
    smearings,
    values_of,
)
from eigenwerk.dft.runs.series.points import SeriesPoint
from eigenwerk.errors import InputError
from eigenwerk.parallel.runtime import Runtime

INCAR = "ENCUT = 180\nISMEAR = 0\nSIGMA = 0.05\n"
POSCAR = "silicon\n5.43\n0 .5 .5\n.5 0 .5\n.5 .5 0\nSi\n2\nDirect\n0 0 0\n.25 .25 .26\n"


@pytest.fixture
def folder(tmp_path):
    def write(incar=INCAR, kpoints="mesh\n0\nGamma\n2 2 2\n"):
        (tmp_path / "INCAR").write_text(incar)
        (tmp_path / "POSCAR").write_text(POSCAR)
        if kpoints:
            (tmp_path / "KPOINTS").write_text(kpoints)
        return read_inputs(tmp_path)

    return write


def made(energies, values=(), name="cutoff"):
    """A series whose points have these energies, eV per atom."""
    values = values or range(100, 100 + 100 * len(energies), 100)
    settings = tuple(SeriesSetting(value, f"setting {value}", None) for value in values)
    points = tuple(
        SeriesPoint(energy is not None, "converged" if energy is not None else "lost", 40.0, 2, 1, 4, energy
            and 2 * energy)
        for energy in energies
    )
    return SettingSeries(name, settings, points)


@pytest.mark.parametrize(
    ("words", "values"),
    [("300:500:100", [300, 400, 500]), ("500:300:-100", [300, 400, 500]), ("0.2,0.1", [0.1, 0.2]),
     ("0.1:0.3:0.1", [0.1, 0.2, 0.3]), ("2:9:3", [2, 5, 8])],
)  # fmt: skip
def test_values_are_ranges_with_both_ends_or_lists(words, values):
    assert values_of(words, "--x") == pytest.approx(values)


@pytest.mark.parametrize(
    "words",
    ["", "300", "3:1:1", "a:b:c", "1:2", "1:2:3:4", "1:2:0", "0:3:1", "1:100:1", "nan,1", "1:inf:1", "1:1e300:1e-300"],
)
def test_values_that_make_no_series_are_refused(words):
    with pytest.raises(InputError, match="FIRST:LAST:STEP"):
        values_of(words, "--x")


def test_errors_of_energies_that_fall_as_a_geometric_series_are_exact():
    exact = -5.0
    energies = [exact + 0.8 * 0.25**n for n in range(4)]
    series = made(energies)
    assert series.errors() == pytest.approx(np.array(energies) - exact)
    assert series.sufficient(0.2001) == 1 and series.sufficient(0.04) == 3 and series.sufficient(0.01) is None


@pytest.mark.parametrize(
    ("energies", "values", "name"),
    [([1.0, 0.5, 0.3], (300, 400, 600), "cutoff"), ([1.0, 0.5, 0.3], (2, 3, 4), "k-points"),
     ([0.5, 0.4, 0.6], (300, 400, 500), "cutoff")],
)  # fmt: skip
def test_elsewhere_the_best_may_lack_as_much_as_it_changed(energies, values, name):
    rest, words = made(energies, values, name).remainder()
    assert rest == pytest.approx(abs(energies[-1] - energies[-2])) and "last change" in words


def test_a_setting_that_is_good_by_chance_is_not_recommended():
    series = made([0.30, 0.0001, 0.20, 0.001, 0.0], name="k-points")
    assert series.sufficient(0.01) == 3


def test_without_the_best_settings_nothing_is_claimed():
    series = made([1.0, 0.5, None])
    assert np.isnan(series.errors()).all() and series.sufficient(1.0) is None
    assert list(remarks(series)) == ["setting 300 is left out: lost"]
    assert not series.complete


def test_default_series_surround_the_folder(folder):
    inputs = folder(INCAR.replace("180", "240"), "mesh\n0\nM\n4 4 2\n0.5 0 0\n")
    assert [one.value for one in cutoffs(inputs).settings] == [180, 240, 300, 360]
    found = meshes(inputs)
    assert [one.words for one in found.settings] == ["2 x 2 x 1", "4 x 4 x 2", "6 x 6 x 3", "8 x 8 x 4"]
    assert found.settings[1].inputs.kpoints.point_kc == pytest.approx(inputs.kpoints.point_kc)
    assert meshes(folder(kpoints="mesh\n0\nGamma\n1 1 1\n")) is None
    assert meshes(folder(kpoints="points\n1\nReciprocal\n.25 .25 .25 1\n")) is None


def test_numbers_below_one_are_spacings_and_equal_meshes_count_once(folder):
    inputs = folder(INCAR + "KSPACING = 0.5\n", "")
    found = meshes(inputs, [0.3, 0.9, 0.5, 0.45])
    assert [one.words for one in found.settings] == ["3 x 3 x 3", "5 x 5 x 5", "7 x 7 x 7"]
    assert found.settings[1].inputs.kpoints.mesh == read_inputs(inputs.folder).kpoints.mesh


def test_series_that_cannot_be_are_refused(folder):
    with pytest.raises(InputError, match="not both"):
        meshes(folder(), [0.5, 2.0])
    with pytest.raises(InputError, match="a list of k-points"):
        meshes(folder(kpoints="points\n1\nReciprocal\n.25 .25 .25 1\n"), [2.0, 4.0])
    with pytest.raises(InputError, match="above 5000"):
        cutoffs(folder(), [500.0, 50000.0])
    with pytest.raises(InputError, match="no width"):
        smearings(folder("ISMEAR = -5\nENCUT = 180\n"), [0.1, 0.2])
    with pytest.raises(InputError, match="1 x 1 x 1 cannot be computed"):
        meshes(folder("ISMEAR = -5\nENCUT = 180\n"), [1.0, 4.0])


@pytest.mark.slow
def test_tiny_silicon_converges_with_the_cutoff_from_above(folder):
    told = []
    series = compute_series(cutoffs(folder(), [140, 180, 220]), Runtime(), lambda so_far, point: told.append(point))
    energies = series.energies()
    assert series.complete and len(told) == 3 and (np.diff(energies) < 0).all()
    assert [point.kept for point in told] == [False, True, True]
    better = compute_series(cutoffs(series.settings[0].inputs, [300, 350]), Runtime(), lambda so_far, point: None)
    wrong = energies - better.energies()[-1]
    assert (wrong[:2] < 2 * series.errors()[:2]).all(), "the estimate is one within a factor of two"
    changes = series.pressure_changes(), series.force_changes()
    assert [column[-1] for column in changes] == [0.0, 0.0] and changes[1][0] > 1e-4
    named = series.as_dict()
    assert named["settings"][0]["value"] == 140 and len(named["sufficient"]) == 3
