"""Densities of states: groups add up, spins are told apart, broadening keeps the states."""

import numpy as np
import pytest

from eigenwerk.errors import InputError
from eigenwerk.io.vasp.output.record import DensityOfStates
from eigenwerk.view.dos_plot import DosCurves, broadened, dos_curves, dos_figure, parse_atoms

COLUMNS = ("s", "py", "pz", "px", "dxy", "dyz", "dz2", "dxz", "x2-y2")
SYMBOLS = ("Ni", "Ni", "O")


def made(spins=2):
    random = np.random.default_rng(1)
    parts = random.random((spins, 61, 3, 9))
    return DensityOfStates(np.linspace(-6, 6, 61), parts.sum((2, 3)) * 1.5, parts.sum((2, 3)), parts, COLUMNS)


def test_values_stand_in_the_middle_of_their_intervals():
    assert dos_curves(made(), SYMBOLS).energy_x[:2] == pytest.approx([-6.1, -5.9])


@pytest.mark.parametrize("parts", ["element", "l", "atom", "lm"])
def test_groups_add_up_to_all_parts(parts):
    dos = made()
    group = dos_curves(dos, SYMBOLS, parts).part
    assert sum(group.values()) == pytest.approx(dos.partial_sxaL.sum((2, 3)))
    assert len(group) == {"element": 2, "l": 6, "atom": 3, "lm": 18}[parts]


def test_d_orbitals_of_all_names_are_d():
    dos = made()
    assert dos_curves(dos, SYMBOLS).part["O d"] == pytest.approx(dos.partial_sxaL[:, :, 2, 4:].sum(-1))


def test_opposite_moments_of_one_element_stand_apart():
    group = dos_curves(made(), SYMBOLS, "element", moment_a=np.array([1.7, -1.7, 0.0])).part
    assert list(group) == ["Ni (m > 0)", "Ni (m < 0)", "O"]
    assert list(dos_curves(made(), SYMBOLS, "element", moment_a=np.array([1.7, 1.6, 0.0])).part) == ["Ni", "O"]


def test_chosen_atoms_alone():
    dos = made()
    nickel_sx = dos_curves(dos, SYMBOLS, "element", [2]).part["Ni"]
    assert nickel_sx == pytest.approx(dos.partial_sxaL[:, :, 1].sum(-1))
    with pytest.raises(InputError, match="atoms 1 to 3"):
        dos_curves(dos, SYMBOLS, atoms=[4])


@pytest.mark.parametrize(("words", "atoms"), [("1", [1]), ("1,3-5", [1, 3, 4, 5]), (" 2 - 3 ,2", [2, 3])])
def test_lists_of_atoms(words, atoms):
    assert parse_atoms(words) == atoms


@pytest.mark.parametrize("words", ["", "a", "3-1", "1,,2", "1-2-3", "-1"])
def test_other_words_are_no_atoms(words):
    with pytest.raises(InputError, match="--atoms"):
        parse_atoms(words)


def test_broadening_keeps_the_number_of_states_and_has_its_width():
    value_sx = np.zeros((1, 401))
    value_sx[0, 200] = 10.0
    energy_x = np.linspace(-10, 10, 401)
    wide = broadened(DosCurves(energy_x, value_sx, {"Si s": value_sx[:, ::-1]}), 0.5)
    assert wide.part["Si s"] == pytest.approx(wide.total_sx[:, ::-1])
    assert wide.total_sx.sum() == pytest.approx(10.0)
    assert (wide.total_sx[0] * energy_x**2).sum() / 10 == pytest.approx(0.25, rel=2e-3)
    assert broadened(wide, 0.01) is wide


def test_spins_differ_by_side_and_by_line():
    axes = dos_figure(dos_curves(made(), SYMBOLS), 0.0, "Fermi level", "NiO").axes[0]
    up = [line for line in axes.lines if line.get_label() == "Ni d"]
    down = [line for line in axes.lines if len(line.get_xdata()) == 61 and line.get_ydata().max() <= 0]
    assert up[0].get_ydata().min() >= 0 and len(down) == 7 and {line.get_linestyle() for line in down} == {"--"}
    assert up[0].get_linestyle() == "-"
    low, high = axes.get_ylim()
    assert low == -high and axes.yaxis.get_major_formatter()(-2.0) == "2"
    assert axes.get_xlabel() == "energy from the Fermi level (eV)" and "states/eV" in axes.get_ylabel()


def test_one_channel_begins_at_zero_and_counts_from_the_zero_given():
    axes = dos_figure(dos_curves(made(1), SYMBOLS, "none"), 1.0, "valence band top", "x", (-3.0, 2.0)).axes[0]
    assert axes.get_ylim()[0] == 0 and axes.get_xlim() == (-3.0, 2.0)
    (total,) = (line for line in axes.lines if line.get_label() == "total")
    assert total.get_xdata()[0] == pytest.approx(-7.1)


def test_energies_without_states_and_too_many_curves_are_bad_input():
    with pytest.raises(InputError, match="--energies"):
        dos_figure(dos_curves(made(), SYMBOLS), 0.0, "Fermi level", "x", (50.0, 60.0))
    with pytest.raises(InputError, match="--parts"):
        dos_figure(dos_curves(made(), SYMBOLS, "lm"), 0.0, "Fermi level", "x")
