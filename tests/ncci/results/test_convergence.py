"""Energies of different interactions, nuclei, M or parity never stand on one curve."""

import numpy as np
import pytest

from eigenwerk.ncci.results.convergence import common_title, over_hw, over_nmax, words_apart
from eigenwerk.ncci.results.level_plot import draw_convergence, draw_levels
from eigenwerk.ncci.results.levels import Levels


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
    energies = {2: -24.0, 4: -27.0, 6: -27.75}
    pure = [result(energy, nmax) for nmax, energy in energies.items()]
    (alone,) = over_nmax(pure)
    mixed = over_nmax([*pure, result(-40.0, 8, interaction="Minnesota")])
    assert alone.limit().energy == pytest.approx(-28.0)
    assert [curve.limit() for curve in mixed] == [alone.limit(), None]


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
