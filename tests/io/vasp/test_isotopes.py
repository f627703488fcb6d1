"""D and T are hydrogen with another mass, and keep their names."""

import numpy as np
import pytest

from eigenwerk.dft.inputs.inputs import read_inputs
from eigenwerk.errors import InputError
from eigenwerk.io.vasp.elements import element_of, name_of, without_isotope
from eigenwerk.io.vasp.input.poscar import format_poscar, parse_poscar

WATER = """heavy water, half
1
6 0 0
0 6 0
0 0 6
O D H T_h
1 1 1 1
Cartesian
0 0 0
.757 .586 0
-.757 .586 0
3 3 3
"""


def test_names_of_isotopes_are_read_as_hydrogen_and_written_as_they_were():
    poscar = parse_poscar(WATER)
    assert poscar.symbols == ("O", "H", "H", "H")
    again = format_poscar(poscar)
    assert again.splitlines()[5].split() == ["O", "D", "H", "T_h"]
    assert parse_poscar(again).suffixes == poscar.suffixes
    assert np.allclose(parse_poscar(again).scaled_ac, poscar.scaled_ac)
    assert not poscar.problems


def test_their_masses_move_them_and_their_data_are_those_of_hydrogen(tmp_path):
    (tmp_path / "POSCAR").write_text(WATER)
    (tmp_path / "KPOINTS").write_text("k\n0\nGamma\n1 1 1\n")
    (tmp_path / "INCAR").write_text("IBRION = 5\nNSW = 1\nEDIFF = 1E-7\nISMEAR = 0\nSIGMA = 0.01\n")
    inputs = read_inputs(tmp_path)
    assert not inputs.errors
    assert inputs.motion.masses_a.tolist() == [15.999, 2.014, 1.008, 3.016]
    assert set(inputs.data) == {"O", "H"}
    (tmp_path / "INCAR").write_text("IBRION = 5\nNSW = 1\nEDIFF = 1E-7\nPOMASS = 16 2 1 1\n")
    assert read_inputs(tmp_path).motion.masses_a.tolist() == [16, 2, 1, 1]


@pytest.mark.parametrize("name", ["D", "D_h", "T1"])
def test_parts_of_a_name_come_back(name):
    symbol, rest = element_of(name[0], name[1:])
    assert symbol == "H"
    assert (name_of(symbol, rest), without_isotope(rest)) == (name, name[1:])
    assert (name_of("Si", "_pv"), without_isotope("_pv")) == ("Si_pv", "_pv")


def test_other_single_letters_are_no_elements():
    with pytest.raises(InputError, match="Q is not a chemical element"):
        parse_poscar(WATER.replace("T_h", "Q"))
