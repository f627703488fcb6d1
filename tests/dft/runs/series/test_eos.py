"""Equations of state: the same settings at all volumes, and words about points that make no curve."""

from dataclasses import replace

import numpy as np
import pytest

from eigenwerk.dft.inputs.inputs import read_inputs
from eigenwerk.dft.runs.series.birch_murnaghan import EquationOfState, fit
from eigenwerk.dft.runs.series.eos import VolumeSeries, doubts, equation_of_state, volumes
from eigenwerk.dft.runs.series.points import SeriesPoint
from eigenwerk.dft.runs.series.variants import fixed_points
from eigenwerk.errors import InputError
from eigenwerk.parallel.runtime import Runtime
from eigenwerk.units import EV_PER_ANGSTROM3_GPA

INCAR = "ENCUT = 180\nISMEAR = 0\nSIGMA = 0.05\nEDIFF = 1E-4\nLORBIT = 11\nISTART = 1\n"
POSCAR = "silicon\n5.58\n0 .5 .5\n.5 0 .5\n.5 .5 0\nSi\n2\nDirect\n0 0 0\n.25 .25 .25\n"
CURVE = EquationOfState(-10.8, 40.9, 0.552, 4.31)


@pytest.fixture
def folder(tmp_path):
    def write(incar=INCAR, kpoints="mesh\n0\nGamma\n2 2 2\n"):
        (tmp_path / "INCAR").write_text(incar)
        (tmp_path / "POSCAR").write_text(POSCAR)
        if kpoints:
            (tmp_path / "KPOINTS").write_text(kpoints)
        return read_inputs(tmp_path)

    return write


def points(shares, **changes):
    """Points on the curve of silicon."""
    point = SeriesPoint(True, "converged", 0.0, 2, 8, 8)
    made = []
    for share in shares:
        volume = 40.9 * share
        pressure = float(CURVE.pressure(np.array(volume))) * EV_PER_ANGSTROM3_GPA
        made.append(replace(point, volume=volume, energy=float(CURVE.energy(np.array(volume))), pressure=pressure))
    return tuple(replace(one, **changes) for one in made)


def series(made):
    used = [point for point in made if point.converged]
    found = fit(np.array([p.volume for p in used]), np.array([p.energy for p in used])) if len(used) > 4 else None
    return VolumeSeries((1.0,) * len(made), tuple(made), found, 40.9)


@pytest.mark.slow
def test_tiny_silicon_has_a_curve_whose_pressures_are_those_of_the_stress(folder):
    inputs, told = folder(), []
    found = equation_of_state(inputs, volumes(inputs, 0.06, 5), Runtime(), lambda so_far, point: told.append(point))
    assert found.complete and len(told) == 5 and list(doubts(found)) == []
    assert [point.kept for point in told] == [False, True, True, True, True]
    assert found.found.residual < 2e-4, "energies without jumps"
    pressures = [point.pressure - point.pulay for point in found.points]
    assert pressures == pytest.approx(found.curve_pressures(), abs=0.5)
    document = found.as_dict()
    assert 60 < document["birch_murnaghan"]["bulk_modulus_GPa"] < 120
    assert document["birch_murnaghan"]["length_scale"] == pytest.approx(1, abs=0.02)
    assert document["points"][0]["length_scale"] == pytest.approx(0.94 ** (1 / 3))


@pytest.mark.fast("auto*")
@pytest.mark.parametrize("kpoints", ["", "auto\n0\nAuto\n20\n", "mesh\n0\nM\n3 3 3\n0.5 0 0\n"])
def test_every_volume_has_the_same_points_bands_and_cutoff(folder, kpoints):
    inputs = folder(INCAR.replace("ENCUT = 180\n", "") + "KSPACING = 0.5\n", kpoints)
    made = [one for _, one in volumes(inputs, 0.25, 5)]
    wanted = inputs.kpoints.point_kc
    assert all(one.kpoints.point_kc == pytest.approx(wanted) for one in made)
    assert {one.setting("ENCUT") for one in made} == {inputs.setting("ENCUT")}
    assert {one.size.bands for one in made} == {inputs.size.bands}
    assert [one.poscar.volume / inputs.poscar.volume for one in made] == pytest.approx([0.75, 0.875, 1, 1.125, 1.25])
    assert {one.setting("ISTART") for one in made} == {0}


def test_cartesian_points_stay_the_same_points(folder):
    inputs = folder(kpoints="points\n2\nCartesian\n0 0 0 1\n0.5 0.5 0.5 3\n")
    (inputs.folder / "KPOINTS").write_text(fixed_points(inputs))
    again = read_inputs(inputs.folder)
    assert again.kpoints.point_kc == pytest.approx(inputs.kpoints.point_kc)
    assert again.kpoints.weight_k == pytest.approx(inputs.kpoints.weight_k)


@pytest.mark.parametrize(
    ("reach", "count", "words"),
    [(0.0, 7, "--range 0"), (0.4, 7, "at most 0.3"), (0.06, 4, "5"),
     (0.06, 31, "at most 30 volumes"), (0.06, 100000, "--points 100000")],
)  # fmt: skip
def test_ranges_without_a_curve_are_refused(folder, reach, count, words):
    with pytest.raises(InputError, match=words):
        volumes(folder(), reach, count)


def test_a_kept_density_is_refused(folder):
    with pytest.raises(InputError, match="Remove ICHARG"):
        volumes(folder(INCAR + "ICHARG = 12\n"), 0.06, 7)


def test_energies_are_fitted_without_the_jumps_of_plane_waves_that_come_and_go():
    """F(N) is smooth: each energy is carried to the mean number of waves by the Pulay stress."""
    excess = 0.01 * np.array([1, -1, 0.5, 1, -0.7, -1, 0.2])
    pulay = -3.0
    made = tuple(
        replace(p, energy=p.energy + p.volume * pulay / EV_PER_ANGSTROM3_GPA * x, pulay=pulay, wave_excess=float(x))
        for p, x in zip(points(np.linspace(0.94, 1.06, 7)), excess, strict=True)
    )
    smooth = [p.smooth_energy for p in made]
    assert smooth == pytest.approx([float(CURVE.energy(np.array(p.volume))) for p in made], abs=1e-12)
    found = fit(np.array([p.volume for p in made]), np.array(smooth))
    assert found.v0 == pytest.approx(CURVE.v0, rel=1e-5) and series(made).found.residual > 1e-3 > 1e6 * found.residual
    assert replace(made[0], pulay=None).smooth_energy == made[0].energy
    assert SeriesPoint.of_dict(made[0].as_dict()).smooth_energy == made[0].smooth_energy


def test_a_low_cutoff_is_told():
    made = points(np.linspace(0.94, 1.06, 7), pulay=-9.0)
    made = tuple(replace(p, pressure=p.pressure - 9.0) for p in made)
    (words,) = doubts(series(made))
    assert "the Pulay stress is 9.0 GPa, of a bulk modulus of 88" in words


def test_good_points_leave_no_doubt():
    found = series(points(np.linspace(0.94, 1.06, 7)))
    assert found.complete and list(doubts(found)) == []


@pytest.mark.parametrize(("first", "last", "side"), [(0.84, 0.94, "larger"), (1.06, 1.16, "smaller")])
def test_a_minimum_that_is_not_between_the_points_is_said_with_the_way_to_it(first, last, side):
    found = series(points(np.linspace(first, last, 7)))
    (words,) = doubts(replace(found, volume=40.9 * (first + last) / 2))
    assert not found.complete and f"at a {side} volume" in words and "scale factor of POSCAR by" in words


def test_energies_without_a_minimum_are_said_to_have_none():
    made = [replace(one, energy=-one.energy) for one in points(np.linspace(0.94, 1.06, 7))]
    found = series(made)
    assert found.found is None and not found.complete and "no minimum" in next(doubts(found))


def test_lost_points_are_left_out_and_named():
    made = list(points(np.linspace(0.94, 1.06, 7)))
    made[2] = replace(made[2], converged=False, status="NOT CONVERGED after 60 steps")
    found = series(made)
    assert found.bracketed and not found.complete and found.found.v0 == pytest.approx(40.9)
    assert f"{made[2].volume:.4f} Å³ is left out of the curve: NOT CONVERGED" in next(doubts(found))
    few = series([replace(one, converged=False, energy=None) for one in made[:3]] + made[3:])
    assert few.found is None and "4 points converged, and a curve needs 5" in list(doubts(few))[-1]


def test_changing_magnets_and_metals_are_said_in_words():
    made = points(np.linspace(0.94, 1.06, 7), moment_a=np.array([0.0, 0.0]), metal=True)
    magnets = [replace(one, moment_a=np.array([2.0, 2.0])) for one in made[3:]]
    assert "the magnetic state changes" in next(doubts(series([*made[:3], *magnets])))
    larger = [replace(one, moment_a=np.array([2.8, -2.8])) for one in made[:3]]
    low = [replace(one, moment_a=np.array([2.0 + 0.02 * n, -2.0])) for n, one in enumerate(made[3:])]
    assert "moments jump from 2.80 to 2.00" in next(doubts(series([*larger, *low])))
    evenly = [replace(one, moment_a=np.array([2.0 + 0.3 * n])) for n, one in enumerate(made)]
    assert list(doubts(series(evenly))) == []
    turned = [replace(one, moment_a=np.array([2.0, -2.0])) for one in made[:3]]
    assert "the order of the moments changes" in next(doubts(series([*turned, *magnets])))
    over = [replace(one, moment_a=np.array([-2.0, -2.0])) for one in made[:3]]
    assert list(doubts(series([*over, *magnets]))) == []
    gap = [replace(one, metal=False) for one in made[:2]]
    assert "a metal at some volumes and not at others" in next(doubts(series([*gap, *made[2:]])))


def test_forces_shear_and_pressures_off_the_curve_are_named():
    made = points(np.linspace(0.94, 1.06, 7), forces_av=np.array([[0, 0, 0.5]]), stress_vv=np.diag([5.0, 0, -5.0]))
    off = [replace(one, pressure=one.pressure + 3) for one in made]
    words = list(doubts(series(off)))
    assert ["forces reach 0.500" in words[0], "the shape of the cell" in words[1], "up to 3.00 GPa" in words[2]]
    assert len(words) == 3
