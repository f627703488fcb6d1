"""Keywords mean what the tags of a folder mean, and errors name the keywords."""

import numpy as np
import pytest

from eigenwerk.dft.inputs.inputs import read_inputs
from eigenwerk.dft.runs.api.incar import inputs_of, kpoints_text
from eigenwerk.dft.runs.api.structures import GivenStructure
from eigenwerk.errors import InputError
from eigenwerk.io.vasp.input.poscar import Poscar
from when_used import when_used

Kpoints = when_used("pymatgen.io.vasp.inputs", "Kpoints")

CELL = np.array([[0, 2.7, 2.7], [2.7, 0, 2.7], [2.7, 2.7, 0]])
POSCAR = Poscar("iron oxide", CELL, ("Fe", "O"), np.array([[0, 0, 0], [0.5, 0.5, 0.5]]))


def inputs(moments=None, charge=0.0, kpts=None, gamma=True, **settings):
    made = inputs_of(GivenStructure(POSCAR, moments, charge), {"encut": 300, **settings}, kpts, gamma)
    made.raise_on_errors()
    return made


def test_a_folder_with_the_same_texts_means_the_same(tmp_path):
    made = inputs(
        (2.0, -0.1), kpts=(2, 2, 1), ismear=0, sigma=1 / 30, lreal=False, ldau=True, ldautype=2,
        ldaul={"O": -1, "Fe": 2},
        ldauu={"Fe": 4.3, "O": 0}, ldauj=[0, 0], amix=np.float32(0.25),
    )  # fmt: skip
    for name, text in made.texts.text.items():
        (tmp_path / name).write_text(text)
    read = read_inputs(tmp_path)
    assert read.parameters == made.parameters
    assert made.parameters.width * 27.211386 == pytest.approx(1 / 30, rel=1e-7)
    assert made.parameters.hubbard and made.parameters.spins == 2
    np.testing.assert_array_equal(read.structure.magmom_a, made.structure.magmom_a)
    np.testing.assert_array_equal(read.kpoints.point_kc, made.kpoints.point_kc)


def test_moments_of_the_structure_serve_unless_others_are_given():
    assert inputs((2.0, 0.0)).structure.magmom_a.tolist() == [2, 0]
    assert inputs((2.0, 0.0), magmom=[1, 0]).structure.magmom_a.tolist() == [1, 0]
    assert inputs((2.0, 0.0), ispin=1).structure.magmom_a is None
    assert inputs(magmom=[1, 0]).parameters.spins == 2
    assert inputs().parameters.spins == 1


def test_isotopes_are_species_of_their_own_where_atoms_move():
    """POMASS has a mass for each species."""
    poscar = Poscar("hydrogen", 6 * np.eye(3), ("H",) * 4, 0.2 * np.arange(12).reshape(4, 3) / 4)
    given = GivenStructure(poscar, mass_a=np.array([1.008, 2.014, 2.014, 1.008]))
    moving = {"encut": 300, "nsw": 2, "ibrion": 0, "potim": 0.5}
    assert inputs_of(given, moving).motion.masses_a.tolist() == [1.008, 2.014, 2.014, 1.008]
    assert inputs_of(given, moving | {"pomass": 3.0}).motion.masses_a.tolist() == [3.0] * 4
    still = inputs_of(given, {"encut": 300})
    assert still.poscar.species_runs == (("H", 4),) and "POMASS" not in still.incar.values


def test_settings_in_force_say_that_they_are_keywords():
    origins = {setting.tag: setting.origin for setting in inputs().settings}
    assert origins["ENCUT"] == "keyword encut" and origins["NELM"] == "default"


def test_kpoints_may_be_a_mesh_points_or_a_text():
    assert inputs(kpts=(2, 2, 2)).kpoints.mesh == (2, 2, 2)
    assert "Monkhorst" in inputs(kpts=(2, 2, 2), gamma=False).kpoints.source
    assert len(inputs(kpts=[[0, 0, 0], [0.5, 0, 0]], isym=-1).kpoints.point_kc) == 2
    assert inputs(kpts=Kpoints.gamma_automatic((3, 3, 3))).kpoints.mesh == (3, 3, 3)
    assert kpoints_text([[0, 0, 0.25, 2]]).splitlines()[-1] == "0.0 0.0 0.25 2.0"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"enct": 400}, "settings: enct = 400: there is no tag ENCT. Did you mean ENCUT?"),
        ({"encut": "much"}, "settings: encut = much: much is not a finite number.*leave it out"),
        ({"encut": [300, 400]}, "several values where one belongs"),
        ({"nbands": 2}, "settings: nbands = 2, but 14 electrons need at least 7 bands"),
        ({"lsorbit": True}, "settings: lsorbit = .TRUE.: spin-orbit coupling"),
        ({"nelm": 2.5}, "nelm = 2.5: 2.5 is not a whole number"),
        ({"system": "a\nNELM = 1"}, "no value is empty, or has a character"),
        ({"nelm": None, "sigma": 1j}, "a complex is no value"),
        ({"ldauu": {"Ni": 4}}, "ldauu names Ni, but the structure has Fe, O"),
        ({"magmom": [1]}, "there are 1 moments for 2 atoms"),
        ({"kpts": (2, 2)}, "three whole numbers"),
        ({"kpts": (2, 2, 2), "kspacing": 0.3}, "both given"),
        ({"kpts": "mesh\n0\nGamma\n0 1 1\n"}, "kpts: "),
        ({"charge": 1.0}, "charge of 1. Say by nelect"),
    ],
)
def test_errors_name_the_keyword(settings, words):
    with pytest.raises(InputError, match=words):
        inputs(**settings)


def test_a_fixed_moment_switches_spin_on():
    held = inputs(nupdown=4)
    assert (held.parameters.spins, held.parameters.fixed_moment) == (2, 4.0)
    assert held.structure.magmom_a.tolist() == [2.0, 2.0]
    assert inputs(nupdown=-1).parameters.spins == 1
    assert inputs(nupdown=4, ispin=1).parameters.spins == 1
