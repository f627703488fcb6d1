"""Energies of different interactions, nuclei, M or parity never stand on one curve."""

from dataclasses import replace

import numpy as np
import pytest

from eigenwerk.errors import InputError
from eigenwerk.ncci.results.levels import Levels
from eigenwerk.ncci.results.levels_text import levels_lines, remarks
from eigenwerk.ncci.results.limits.convergence import common_title, over_hw, over_nmax, words_apart
from eigenwerk.ncci.results.limits.level_plot import draw_convergence, draw_levels, label_heights


def result(energy, nmax, hw=20.0, nucleus="4He", interaction="JISP16", srg_lambda=None, twice_M=0, coulomb=True):
    """A result with one state."""
    about = {
        "nucleus": nucleus, "Z": 2, "N": int(nucleus[0]) - 2, "interaction": interaction, "srg_lambda": srg_lambda,
        "hw": hw, "Nmax": nmax, "twice_M": twice_M, "parity": (-1) ** nmax, "coulomb": coulomb,
    }  # fmt: skip
    one = np.zeros(1)
    return Levels(about, 1, 1, np.array([energy]), one, True, one, one)


SERIES = [result(-25.0, 4), result(-20.0, 2), result(-24.0, 4, hw=15.0)]


def test_results_of_one_kind_are_curves_over_nmax_and_over_hw():
    assert [(curve.apart, curve.fixed, curve.points) for curve in over_nmax(SERIES)] == [
        ((), 15.0, ((4.0, -24.0),)),
        ((), 20.0, ((2.0, -20.0), (4.0, -25.0))),
    ]
    assert [(curve.fixed, curve.points) for curve in over_hw(SERIES)] == [
        (2.0, ((20.0, -20.0),)),
        (4.0, ((15.0, -24.0), (20.0, -25.0))),
    ]
    assert common_title(SERIES) == "4He, JISP16"


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"interaction": "Minnesota"}, ["JISP16", "Minnesota"]),
        ({"srg_lambda": 2.0}, ["JISP16", "JISP16 SRG 2 fm^-1"]),
        ({"nucleus": "6He"}, ["4He", "6He"]),
        ({"twice_M": 4}, ["M = 0", "M = 2"]),
        ({"coulomb": False}, ["with Coulomb", "no Coulomb"]),
    ],
    ids=str,
)
def test_what_differs_parts_the_curves_and_names_them(other, words):
    series = [*SERIES, result(-28.0, 6, **other)]
    assert {word for apart in words_apart(series) for word in apart} == set(words)
    assert sorted(len(curve.points) for curve in over_nmax(series)) == [1, 1, 2]
    assert sorted(len(curve.points) for curve in over_hw(series)) == [1, 1, 2]


def test_odd_nmax_is_another_parity_and_another_curve():
    curves = over_nmax([*SERIES, result(-10.0, 3)])
    assert [curve.apart for curve in curves] == [("parity +",), ("parity +",), ("parity -",)]


def test_a_limit_is_that_of_one_interaction():
    energies = {2: -24.0, 4: -27.0, 6: -27.75, 8: -27.9375}
    pure = [result(energy, nmax) for nmax, energy in energies.items()]
    (alone,) = over_nmax(pure)
    mixed = over_nmax([*pure, result(-40.0, 10, interaction="Minnesota")])
    assert alone.limit().energy == pytest.approx(-28.0)
    assert [curve.limit() for curve in mixed] == [alone.limit(), "1 value of Nmax; it takes 4"]


SLOW = {2: -24.0, 4: -27.0, 6: -27.75, 8: -27.9375}
"""An exponential whose limit is -28.0 +- 0.125."""


@pytest.mark.parametrize(
    ("elsewhere", "refused"),
    [
        ({"energy": -28.2}, True),
        ({"energy": -28.1}, False),  # inside the error bar
        ({"energy": -28.2, "twice_M": 4}, False),
        ({"energy": -28.2, "interaction": "Minnesota"}, False),
        ({"energy": -28.2, "coulomb": False}, False),
    ],
    ids=str,
)
def test_a_limit_above_an_energy_at_another_hw_is_none(elsewhere, refused):
    """Energies are variational, and the limit is the same for all hbar-omega."""
    series = [result(energy, nmax) for nmax, energy in SLOW.items()]
    curves = over_nmax([*series, result(nmax=4, hw=25.0, **elsewhere)])
    (limit,) = (curve.limit() for curve in curves if len(curve.points) == 4)
    if refused:
        assert "-28.000 +- 0.125 lies above -28.2000 MeV, the energy of this level at hbar-omega 25" in limit
    else:
        assert limit.energy == pytest.approx(-28.0)


def test_matrix_elements_that_belong_to_one_hw_each_bound_no_limit_of_another():
    """Files of one name may hold what was renormalised at their hbar-omega: no one operator, no common limit."""
    series = [result(energy, nmax, interaction="v.bin") for nmax, energy in SLOW.items()]
    curves = over_nmax([*series, result(-29.0, 4, hw=25.0, interaction="v.bin")])
    assert [curve.elsewhere for curve in curves] == [None, None]
    assert curves[0].limit().energy == pytest.approx(-28.0)


def test_another_level_or_a_state_that_is_not_converged_bounds_no_limit():
    series = [result(energy, nmax) for nmax, energy in SLOW.items()]
    lower = result(-29.0, 4, hw=25.0)
    for other in (replace(lower, j_n=np.array([2.0])), replace(lower, residual_n=np.array([0.5]))):
        assert over_nmax([*series, other])[0].limit().energy == pytest.approx(-28.0)


def levels_of(nmax, states, smaller=None, overlap_nm=None):
    """Levels with these (energy, J, quanta of the centre of mass)."""
    energy_n, j_n, quanta_n = (np.array(column, dtype=float) for column in zip(*states, strict=True))
    known = {}
    if smaller is not None:
        known = {"Nmax": smaller.about["Nmax"], "hw": 20.0, "energy_m": smaller.energy_n}
        known["overlap_nm"] = np.array(overlap_nm)
    about = result(0.0, nmax).about
    return Levels(about, 9, 9, energy_n, energy_n * 0, True, j_n, j_n * 0, {"N_cm": quanta_n}, smaller=known)


def test_a_level_is_followed_by_its_spin_and_overlap():
    """At the smallest Nmax another spin is lowest, and the second 2+ crosses the first; a state of an excited centre of
    mass lies below all."""
    zero = levels_of(0, [(-9.4, 3, 0), (-9.0, 1, 0), (-5.0, 2, 0), (-4.0, 2, 0)])
    two = levels_of(
        2,
        [(-18.0, 1, 2), (-17.0, 1, 0), (-16.0, 3, 0), (-12.0, 2, 0), (-11.0, 2, 0)],
        zero,
        [[0, 0.9, 0, 0], [0, 0.8, 0, 0], [0.8, 0, 0, 0], [0, 0, 0.1, 0.8], [0, 0, 0.7, 0.2]],
    )
    (ground,) = over_nmax([two, zero])
    assert ground.points == ((0.0, -9.0), (2.0, -17.0)) and ground.level == "1+ #1" and ground.by_overlap
    points = {curve.level: curve.points for curve in over_nmax([zero, two], excited=True)}
    assert points["2+ #1"] == ((0.0, -4.0), (2.0, -12.0)) and points["2+ #2"] == ((0.0, -5.0), (2.0, -11.0))
    assert set(points) == {"1+ #1", "3+ #1", "2+ #1", "2+ #2"}


def test_without_overlaps_the_number_among_equal_spins_decides_and_is_said():
    zero, two = levels_of(0, [(-9.4, 3, 0), (-9.0, 1, 0)]), levels_of(2, [(-17.0, 1, 0), (-16.0, 3, 0)])
    (ground,) = over_nmax([zero, two])
    assert ground.points == ((0.0, -9.0), (2.0, -17.0)) and not ground.by_overlap


def test_states_with_an_excited_centre_of_mass_are_not_counted():
    levels = levels_of(2, [(-18.0, 1, 2), (-17.0, 1, 0), (-16.0, 1, 0)])
    assert levels.order_n.tolist() == [0, 1, 2]
    assert levels.excited_n.tolist()[1:] == [0.0, 1.0] and np.isnan(levels.excited_n[0])
    text = "\n".join(levels_lines(replace(levels, about=levels.about | {"title": "x"})))
    assert "  1     1+    -" in text and "cm: the centre of mass is excited" in text


def test_a_spin_that_is_no_half_integer_is_a_warning():
    levels = levels_of(2, [(-18.0, 1, 0), (-17.0, 1.4, 0)])
    assert any("no integer in state 2 (1.400)" in line for line in remarks(levels))


def test_energies_that_are_not_converged_have_no_limit():
    """Four points of an exponential, of which one is a state with a residual of half an MeV."""
    series = [result(-30.0 + 7 * 0.5 ** (size / 2), size) for size in (2, 4, 6, 8)]
    (curve,) = over_nmax(series)
    assert curve.limit().energy == pytest.approx(-30.0)
    (curve,) = over_nmax([*series[:2], replace(series[2], residual_n=np.full_like(series[2].energy_n, 0.5)), series[3]])
    assert "not converged (residual 5.0e-01 MeV)" in curve.limit()


def test_pictures_name_every_curve_and_column(tmp_path, monkeypatch):
    from matplotlib.figure import Figure

    seen = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, target, **_: (seen.append(figure), target.touch()))
    series = [*SERIES, result(-28.0, 4, interaction="Minnesota")]
    draw_convergence(tmp_path / "a.png", series)
    draw_levels(tmp_path / "b.png", series[2:])
    left, right = seen[0].axes
    assert [text.get_text() for text in left.get_legend().texts] == [
        "JISP16, 15 MeV",
        "JISP16, 20 MeV",
        "Minnesota, 20 MeV",
    ]
    assert len(right.lines) == 3 and seen[0].get_suptitle() == "4He"
    assert [label.get_text() for label in seen[1].axes[0].get_xticklabels()] == [
        "JISP16\n15 MeV\nNmax 4",
        "Minnesota\n20 MeV\nNmax 4",
    ]


def drawn(monkeypatch, tmp_path, draw, series):
    """The figure that is drawn."""
    from matplotlib.figure import Figure

    seen = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, target, **_: (seen.append(figure), target.touch()))
    draw(tmp_path / "a.png", series)
    return seen[0]


def test_panels_without_a_curve_are_left_out_and_ticks_are_what_was_computed(tmp_path, monkeypatch):
    series = [result(-20.0, 2), result(-25.0, 4), result(-10.0, 3), result(-11.0, 5)]
    figure = drawn(monkeypatch, tmp_path, draw_convergence, series)
    assert [axes.get_xlabel() for axes in figure.axes] == ["Nmax", "Nmax"]
    assert [axes.get_xticks().tolist() for axes in figure.axes] == [[2, 4], [3, 5]]
    with pytest.raises(InputError, match="Nothing to draw"):
        draw_convergence(tmp_path / "a.png", series[:1])


def test_labels_of_close_levels_stay_apart_and_inside_the_picture(tmp_path, monkeypatch):
    states = [(-30.0 + 0.01 * n, n % 5, 0) for n in range(25)] + [(-29.0, 1, 2)]
    series = [levels_of(2, states), levels_of(4, [(-31.0, 0, 0), (-1.0, 2, 0)])]
    figure = drawn(monkeypatch, tmp_path, draw_levels, series)
    figure.draw_without_rendering()
    (axes,) = figure.axes
    whole = figure.bbox
    boxes = [text.get_window_extent() for text in axes.texts]
    assert len(boxes) == 25 + 2 + 2  # the state of the excited centre of mass is left out
    assert all(whole.x0 <= box.x0 and box.x1 <= whole.x1 and whole.y0 <= box.y0 and box.y1 <= whole.y1 for box in boxes)
    for i, one in enumerate(boxes):
        assert not any(one.overlaps(other) for other in boxes[i + 1 :])


def test_heights_of_labels():
    assert label_heights([0.0, 0.1, 5.0], 1.0, 0.0, 10.0).tolist() == pytest.approx([0.0, 1.0, 5.0])
    assert label_heights([9.8, 9.9, 10.0], 1.0, 0.0, 10.0).tolist() == pytest.approx([8.0, 9.0, 10.0])
