"""What a folder becomes: values, defaults, units and where each setting comes from."""

import shutil
from dataclasses import replace
from math import ceil, sqrt

import numpy as np
import pytest

from eigenwerk.dft.crystal.symmetry import find_symmetry
from eigenwerk.dft.filling.default_bands import BandDemand, default_bands, fewest_bands
from eigenwerk.dft.inputs.fitting_files import occupancy_count
from eigenwerk.dft.inputs.inputs import read_inputs
from eigenwerk.errors import InputError
from eigenwerk.io.vasp.input.poscar import Poscar
from eigenwerk.io.vasp.output.volumetric import write_fields
from eigenwerk.io.vasp.volumetric import GridBlock, Volumetric
from eigenwerk.units import BOHR_ANGSTROM, HARTREE_EV

SILICON = """silicon
5.43
0.0 0.5 0.5
0.5 0.0 0.5
0.5 0.5 0.0
Si
2
Direct
0.0 0.0 0.0
0.25 0.25 0.25
"""

IRON = """iron, two atoms
2.83
1 0 0
0 1 0
0 0 1
Fe
2
Direct
0.0 0.0 0.0
0.5 0.5 0.5
"""

OXIDE = """nickel oxide
4.17
1.0 0.5 0.5
0.5 1.0 0.5
0.5 0.5 1.0
Ni O
2 2
Direct
0.0 0.0 0.0
0.5 0.5 0.5
0.25 0.25 0.25
0.75 0.75 0.75
"""

MESH = "mesh\n0\nGamma\n2 2 2\n0 0 0\n"


@pytest.fixture
def read(tmp_path):
    """A function from the texts of the files to `Inputs`."""

    def build(incar="", poscar=SILICON, kpoints=MESH, **others):
        for name, text in {"INCAR": incar, "POSCAR": poscar, "KPOINTS": kpoints, **others}.items():
            if text is not None:
                (tmp_path / name).write_text(text)
        return read_inputs(tmp_path)

    return build


def origins(inputs):
    return {setting.tag: setting.origin for setting in inputs.settings}


def texts(inputs, severity):
    return [str(problem) for problem in inputs.problems if problem.severity == severity]


# -- settings and where they come from -----------------------------------------------------------------------------


def test_a_folder_becomes_structure_kpoints_parameters_and_data(read):
    inputs = read("ENCUT = 400\nISMEAR = 0; SIGMA = 0.01\n")
    assert inputs.errors == ()
    assert inputs.structure.symbols == ("Si", "Si")
    assert inputs.structure.volume * BOHR_ANGSTROM**3 == pytest.approx(5.43**3 / 4)
    assert inputs.structure.magmom_a is None
    assert len(inputs.kpoints.point_kc) == 3
    assert inputs.kpoints.weight_k.sum() == pytest.approx(1.0)
    assert inputs.parameters.electrons == 8.0
    assert inputs.parameters.cutoff == pytest.approx(400 / HARTREE_EV)
    assert inputs.datasets["Si"].name.startswith("Si.PBE")
    assert inputs.data["Si"].header.md5
    assert inputs.poscar.title == "silicon"
    assert inputs.symmetry.spacegroup.startswith("Fd-3m")


def test_every_setting_says_where_it_comes_from(read):
    inputs = read("ENCUT = 400\nNGX = 32\n\nISPIN = 2\nALGO = Old\n")
    origin = origins(inputs)
    assert origin["ENCUT"] == "INCAR line 1"
    assert origin["NGX"] == "INCAR line 2"
    assert origin["NGY"] == "from PREC and ENCUT"
    assert origin["NGXF"] == "from NGX, NGY, NGZ"
    assert origin["ISPIN"] == "INCAR line 4"
    assert origin["MAGMOM"] == origin["EDIFF"] == "default"
    assert origin["NELECT"] == "sum of the valences"
    assert origin["AMIN"] == "min(0.1, AMIX, AMIX_MAG)"
    assert origin["ALGO"] == "INCAR line 5, in place of Old"
    assert inputs.setting("ALGO") == "Normal"
    assert inputs.setting("MAGMOM") == (1.0, 1.0)
    assert [s.tag for s in inputs.settings if s.given] == ["ENCUT", "NGX", "ALGO", "ISPIN"]


def test_default_cutoff_is_the_largest_recommendation_and_names_its_data_set(read):
    inputs = read("", OXIDE)
    advised = {symbol: data.advice.recommended_eV for symbol, data in inputs.data.items()}
    hardest = max(advised, key=advised.get)
    assert len(set(advised.values())) == 2
    assert inputs.setting("ENCUT") == advised[hardest]
    assert origins(inputs)["ENCUT"] == f"from data set {inputs.data[hardest].header.name}"
    assert inputs.parameters.cutoff * HARTREE_EV == pytest.approx(advised[hardest])


def test_defaults_are_those_of_the_table(read):
    given = read("").parameters
    assert (given.precision, given.functional, given.spins, given.ismear) == ("Normal", "PE", 1, 1)
    assert (given.max_steps, given.min_steps, given.frozen_steps) == (120, 2, 0)
    assert given.energy_tolerance * HARTREE_EV == pytest.approx(1e-4)
    assert given.width * HARTREE_EV == pytest.approx(0.2)
    assert (given.symmetry_level, given.wave_grid, given.fine_grid) == (2, None, None)
    assert given.symmetry_tolerance * BOHR_ANGSTROM == pytest.approx(1e-5)
    assert (given.fixed_moment, given.fixed_occupations) == (None, None)
    assert given.title == "unknown system"
    mixing = given.mixing
    assert (mixing.kind, mixing.amix, mixing.amix_mag, mixing.amin, mixing.history) == ("pulay", 0.4, 1.6, 0.1, 24)
    assert mixing.bmix == mixing.bmix_mag == pytest.approx(BOHR_ANGSTROM)
    assert mixing.fit_mag, "AMIX_MAG is not given, so the response may say less"
    assert mixing.fit_charge, "AMIX is not given, so the response may say more"


def test_values_of_the_user_arrive_in_the_units_of_the_engine(read):
    given = read(
        "SYSTEM = a title\nPREC = Accurate\n"
        "EDIFF = 2e-6\nNELM = 30\nNELMIN = 4\nNELMDL = -7\nSIGMA = 0.03\nISMEAR = 2\n"
        "AMIX = 0.05\nBMIX = 0.5\nAMIX_MAG = 0.8\nBMIX_MAG = 2\nMAXMIX = -9\nIMIX = 1\nISYM = 0\nSYMPREC = 1e-3\n"
        "ISPIN = 2\nGGA = RP\n"
    ).parameters
    assert (given.title, given.precision, given.functional) == ("a title", "Accurate", "RP")
    assert given.energy_tolerance == pytest.approx(2e-6 / HARTREE_EV)
    assert (given.max_steps, given.min_steps, given.frozen_steps, given.ismear) == (30, 4, 7, 2)
    assert given.width == pytest.approx(0.03 / HARTREE_EV)
    mixing = given.mixing
    assert (mixing.kind, mixing.amix, mixing.amix_mag, mixing.history) == ("kerker", 0.05, 0.8, 9)
    assert not mixing.fit_mag, "a given AMIX_MAG is taken as it is"
    assert not mixing.fit_charge, "a given AMIX is taken as it is"
    assert mixing.amin == 0.05, "AMIN follows the smallest linear factor"
    assert mixing.bmix == pytest.approx(0.5 * BOHR_ANGSTROM)
    assert mixing.bmix_mag == pytest.approx(2 * BOHR_ANGSTROM)
    assert given.symmetry_level == 0
    assert given.symmetry_tolerance == pytest.approx(1e-3 / BOHR_ANGSTROM)


@pytest.mark.parametrize(
    ("tag", "functional", "name"),
    [("PE", "PE", "Si.PBE"), ("RE", "RE", "Si.revPBE"), ("PS", "PS", "Si.PBE"), ("CA", "CA", "Si.LDA"),
     ("PZ", "CA", "Si.LDA"), ("PW92", "PW92", "Si.LDA"), ("rp", "RP", "Si.RPBE"),
     ("LIBXC\nLIBXC2 = 101\nLIBXC1 = gga_c_pbe", "PE-EXACT", "Si.PBE"), ("GGA_X_RPBE+GGA_C_PBE", "RP", "Si.RPBE"),
     ("LIBXC\nLIBXC1 = 117\nLIBXC2 = 133", "GGA_X_RPBE+GGA_C_PBE_SOL", "Si.RPBE")],
)  # fmt: skip
def test_the_functional_chooses_the_data_sets(read, tag, functional, name):
    inputs = read(f"GGA = {tag}")
    assert inputs.parameters.functional == functional
    assert inputs.data["Si"].header.name == name
    assert inputs.errors == ()


def test_setups_and_suffixes_choose_variants(read):
    inputs = read("", OXIDE.replace("Ni O", "Cr_14 O_xyz"))
    assert inputs.data["Cr"].header.name == "Cr.14.PBE"
    assert any("no data set of O for the suffix in O_xyz" in text for text in texts(inputs, "note"))
    assert inputs.data["O"].header.name == "O.PBE"
    chosen = read("SETUPS = Cr:14 O:nothing", OXIDE.replace("Ni O", "Cr O"))
    assert chosen.data["Cr"].header.name == "Cr.14.PBE"
    (error,) = chosen.errors
    assert error.line == 1
    assert error.tag == "SETUPS"
    assert "variant nothing" in error.message


# -- electrons, bands, spin ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("electrons", "atoms", "moment", "bands"),
    [(8, 2, 0, 8), (3, 1, 0, 5), (256, 64, 0, 161), (200, 2, 0, 120), (16, 2, 2, 13), (16, 2, 5.0, 15), (1, 1, 1, 5)],
)
def test_default_bands_follow_the_formula(electrons, atoms, moment, bands):
    """NBANDS of the VASP wiki, worked out by hand; the last number is the sum of |MAGMOM|."""
    assert default_bands(electrons, atoms, BandDemand(moment)) == bands


@pytest.mark.parametrize(("electrons", "moment", "bands"), [(8, 0, 4), (7, 0, 4), (8, 2, 5), (8.5, 0, 5), (0.1, 0, 1)])
def test_fewest_bands_hold_the_electrons(electrons, moment, bands):
    assert fewest_bands(electrons, moment) == bands
    assert 2 * fewest_bands(electrons) >= electrons


def test_an_antiferromagnet_has_as_many_bands_as_a_ferromagnet(read):
    up = read("ISPIN = 2\nMAGMOM = 2*3", IRON)
    down = read("ISPIN = 2\nMAGMOM = 3 -3", IRON)
    none = read("ISPIN = 1", IRON)
    assert up.parameters.bands == down.parameters.bands == none.parameters.bands + 3


def test_moments_lower_the_symmetry_and_flips_stay(read):
    ferro, anti = read("ISPIN=2\nMAGMOM = 2*2", IRON), read("ISPIN=2\nMAGMOM = 2 -2", IRON)
    assert ferro.symmetry.order == anti.symmetry.order == 96
    assert not ferro.symmetry.spin_flip_o.any()
    assert anti.symmetry.spin_flip_o.sum() == 48
    assert anti.structure.magmom_a.tolist() == [2.0, -2.0]


def test_a_fixed_moment_uses_no_operation_that_exchanges_the_spins(read):
    fixed = read("ISPIN=2\nMAGMOM = 2 -2\nNUPDOWN = 4", IRON)
    assert fixed.parameters.fixed_moment == 4.0
    assert not fixed.kpoints.symmetry.spin_flip_o.any()
    assert read("ISPIN=2\nNUPDOWN = -1", IRON).parameters.fixed_moment is None
    assert read("ISPIN=2\nNUPDOWN = 0", IRON).parameters.fixed_moment == 0.0


def test_a_charged_cell_is_noted(read):
    inputs = read("NELECT = 7.5")
    assert inputs.parameters.electrons == 7.5
    (note,) = [text for text in texts(inputs, "note") if "NELECT" in text]
    assert "charge +0.5" in note
    assert read("NELECT = 8").parameters.electrons == 8.0


def test_fixed_occupations(read):
    rows = read("ISMEAR = -2\nNBANDS = 5\nFERWE = 3*1 2*0.5").parameters.fixed_occupations
    assert rows == ((1.0, 1.0, 1.0, 0.5, 0.5),)
    spin = read("ISMEAR = -2\nISPIN=2\nNBANDS = 5\nFERWE = 5*1\nFERDO = 3*1 2*0").parameters.fixed_occupations
    assert spin == ((1.0,) * 5, (1.0, 1.0, 1.0, 0.0, 0.0))
    each_point = read("ISMEAR = -2\nNBANDS = 4\nFERWE = 12*1").parameters.fixed_occupations
    assert each_point == ((1.0,) * 4,), "three k-points with the same occupations"


# -- structure, symmetry, k-points, grids -------------------------------------------------------------------------


def test_a_structure_with_few_digits_becomes_exactly_symmetric(read):
    hexagonal = (
        "Mg\n1\n3.2093 0 0\n-1.60465 2.77933 0\n0 0 5.2103\nMg\n2\nDirect\n0.33333 0.66667 0.25\n.66667 .33333 .75\n"
    )
    inputs = read("SYMPREC = 1e-4", hexagonal)
    assert inputs.symmetry.order == 24
    rotation_ovv = inputs.symmetry.rotation_ovv
    cartesian = (
        inputs.structure.lattice_cv.T @ inputs.symmetry.rotation_occ @ np.linalg.inv(inputs.structure.lattice_cv.T)
    )
    assert np.abs(cartesian - rotation_ovv).max() < 1e-13, "the lattice itself is symmetric, not only its nearest"
    again = find_symmetry(inputs.structure, 1e-10, 2)
    assert again.order == 24
    assert inputs.kpoints.symmetry.lattice_cv == pytest.approx(inputs.structure.lattice_cv)
    assert np.abs(inputs.structure.scaled_ac - inputs.poscar.scaled_ac).max() < 1e-5


@pytest.mark.parametrize(("level", "order", "reversal"), [(-1, 1, False), (0, 1, True), (2, 48, True)])
def test_isym_levels(read, level, order, reversal):
    inputs = read(f"ISYM = {level}")
    assert (inputs.symmetry.order, inputs.symmetry.time_reversal) == (order, reversal)


def test_without_kpoints_file_the_spacing_makes_the_mesh(read, tmp_path):
    plain = read("", kpoints=None)
    b = 2 * np.pi / (5.43 / sqrt(2) * sqrt(2 / 3))  # |b| of the primitive vectors, 1/Å
    assert plain.kpoints.mesh == (ceil(b / 0.5),) * 3
    assert plain.setting("KSPACING") == 0.5
    assert plain.setting("KGAMMA") is True
    fine = read("KSPACING = 0.3\nKGAMMA = F", kpoints=None)
    assert fine.kpoints.mesh == (ceil(b / 0.3),) * 3
    assert fine.kpoints.source.startswith("Monkhorst-Pack")


def test_the_kpoints_file_wins_over_spacing(read):
    inputs = read("KSPACING = 0.2")
    assert inputs.kpoints.mesh == (2, 2, 2)
    assert inputs.setting("KSPACING") is None
    assert any("KSPACING" in text for text in texts(inputs, "note"))


@pytest.mark.parametrize(
    ("kpoints", "full", "irreducible"),
    [
        ("m\n0\nMonkhorst\n2 2 2\n", 8, 2),
        ("a\n0\nAuto\n20\n", 216, 16),
        ("l\n2\nReciprocal\n0 0 0 1\n0.5 0.5 0.5 3\n", 2, 2),
        ("c\n1\nCartesian\n0.25 0.25 0.25 1\n", 1, 1),
        ("g\n0\nReciprocal\n0.5 0 0\n0 0.5 0\n0 0 0.5\n0 0 0\n", 8, 3),
        ("t\n1\nReciprocal\n0 0 0 1\nTetrahedra\n1 0.5\n6 1 1 1 1\n", 1, 1),
    ],
)
def test_forms_of_the_kpoints_file(read, kpoints, full, irreducible):
    inputs = read("", kpoints=kpoints)
    assert inputs.errors == ()
    assert (inputs.kpoints.full_count, len(inputs.kpoints.point_kc)) == (full, irreducible)


def test_weights_of_a_list_are_normalised_and_its_tetrahedra_ignored(read):
    inputs = read("", kpoints="t\n2\nReciprocal\n0 0 0 1\n.5 .5 .5 3\nTetrahedra\n1 0.5\n6 1 1 1 2\n")
    assert inputs.kpoints.weight_k.tolist() == [0.25, 0.75] and inputs.kpoints.tetrahedra is None
    assert any("tetrahedra is not used: ISMEAR = 1" in text for text in texts(inputs, "note"))


def test_tetrahedra_of_a_list_say_what_its_points_stand_for(read):
    two = "t\n2\nReciprocal\n0 0 0 1\n.5 .5 .5 3\nTetrahedra\n2 0.25\n3 1 1 1 2\n1 2 2 2 2\n"
    inputs = read("ISMEAR = -5", kpoints=two)
    assert inputs.errors == () and inputs.kpoints.weight_k.tolist() == [0.5625, 0.4375]
    assert inputs.kpoints.tetrahedra.weight_T.tolist() == [0.75, 0.25]
    assert any("take their weights from the tetrahedra" in text for text in texts(inputs, "note"))
    assert not texts(inputs, "warning")
    inputs = read("ISMEAR = -5", kpoints="t\n1\nReciprocal\n0 0 0 1\nTetrahedra\n1 0.5\n6 1 1 1 1\n")
    assert inputs.kpoints.weight_k.tolist() == [1.0]
    assert any("fill 3 of the Brillouin zone" in text for text in texts(inputs, "warning"))


GENERALISED = "g\n0\nReciprocal\n0.5 0 0\n0 0.5 0\n0 0 0.5\n0 0 0\n"


@pytest.mark.parametrize("ismear", [-4, -5, -14, -15])
@pytest.mark.parametrize("kpoints", [None, "m\n0\nMonkhorst\n2 2 2\n", GENERALISED], ids=["spacing", "mesh", "general"])
def test_meshes_get_tetrahedra_where_ismear_asks_for_them(read, ismear, kpoints):
    inputs = read(f"ISMEAR = {ismear}", kpoints=kpoints)
    assert inputs.errors == () and inputs.parameters.ismear == ismear
    tetrahedra, points = inputs.kpoints.tetrahedra, len(inputs.kpoints.point_kc)
    np.testing.assert_allclose(tetrahedra.weight_of_points(points), inputs.kpoints.weight_k, atol=1e-12)
    assert read("ISMEAR = 0", kpoints=kpoints).kpoints.tetrahedra is None


@pytest.mark.parametrize("ismear", [-4, -5])
def test_sharp_tetrahedra_need_no_width(read, ismear):
    assert read(f"ISMEAR = {ismear}\nSIGMA = 0").errors == ()


def test_range_of_the_density_of_states_is_in_force(read):
    inputs = read("NEDOS = 1001\nEMIN = -10\nEMAX = 5.5")
    assert [inputs.setting(tag) for tag in ("NEDOS", "EMIN", "EMAX")] == [1001, -10.0, 5.5]
    assert [read("").setting(tag) for tag in ("NEDOS", "EMIN", "EMAX")] == [301, None, None]


def test_grids_by_hand_are_completed(read):
    automatic = read("ENCUT = 300").grids
    partly = read("ENCUT = 300\nNGX = 40")
    assert partly.grids.wave == (40, *automatic.wave[1:])
    assert partly.grids.fine == (80, *automatic.fine[1:])
    assert partly.parameters.wave_grid == partly.grids.wave
    assert partly.parameters.fine_grid == partly.grids.fine
    fine = read("ENCUT = 300\nNGZF = 100")
    assert fine.grids.wave == automatic.wave
    assert fine.grids.fine == (*automatic.fine[:2], 100)


# -- earlier runs ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("incar", "restart"),
    [("", None), ("ISTART = 0", None), ("ISTART = 1", "orbitals"), ("ICHARG = 1", "density"), ("ICHARG = 2", None),
     ("ISTART = 1\nICHARG = 1", "orbitals")],
)  # fmt: skip
def test_an_earlier_state_is_read_only_when_asked_for(read, tmp_path, incar, restart):
    inputs = read(incar, **{"eigenwerk.h5": ""})
    assert inputs.restart == restart
    assert inputs.restart_file == (tmp_path / "eigenwerk.h5" if restart else None)
    assert inputs.setting("ISTART") == (1 if restart == "orbitals" else 0)
    if not incar:
        assert any("ISTART = 1 continues from it" in text for text in texts(inputs, "note"))


def test_an_earlier_state_may_lie_in_the_output_folder(read, tmp_path):
    read("ISTART = 1")
    out = tmp_path / "out"
    out.mkdir()
    (out / "eigenwerk.h5").write_text("")
    assert read_inputs(tmp_path).restart is None
    assert read_inputs(tmp_path, out).restart_file == out / "eigenwerk.h5"


def test_a_missing_state_is_a_warning_and_the_run_starts_from_atoms(read):
    for incar in ("ISTART = 1", "ICHARG = 1"):
        inputs = read(incar)
        assert inputs.restart is None
        assert inputs.setting("ICHARG") == 2
        (warning,) = texts(inputs, "warning")
        assert "there is no eigenwerk.h5" in warning or "there is no CHGCAR and no eigenwerk.h5" in warning


STATE, CHARGE = "eigenwerk run abababababababab, save 2", "eigenwerk run abababababababab, save 3"


@pytest.mark.parametrize(("files", "chosen"), [
    ({"eigenwerk.h5": STATE}, "eigenwerk.h5"),
    ({"eigenwerk.h5": STATE, "CHGCAR": CHARGE}, "eigenwerk.h5"),
    ({"eigenwerk.h5": STATE, "CHGCAR": CHARGE.replace("ab", "cd")}, "CHGCAR"),
    ({"eigenwerk.h5": STATE, "CHGCAR": "of another program"}, "CHGCAR"),
    ({"CHGCAR": CHARGE}, "CHGCAR"),
])  # fmt: skip
def test_icharg_1_means_chgcar_unless_the_state_of_its_run_lies_beside_it(read, tmp_path, files, chosen):
    assert read("ICHARG = 1", **files).restart_file == tmp_path / chosen
    if "eigenwerk.h5" in files:
        assert read("ISTART = 1", **files).restart_file == tmp_path / "eigenwerk.h5"


def test_check_refuses_a_chgcar_that_does_not_fit(read):
    inputs = read("ICHARG = 1", CHGCAR="of another program")
    assert any("CHGCAR" in text and "no empty line" in text for text in texts(inputs, "error"))


def test_check_says_of_a_chgcar_what_the_run_says(shared_dir, tmp_path):
    """Of one without augmentation occupancies, as machine learning predicts densities."""
    for name in ("POSCAR", "KPOINTS"):
        shutil.copy(shared_dir / "reference" / "reported" / "chgcar_without_augmentation" / name, tmp_path)
    poscar = Poscar("Si", 2.715 * (1 - np.eye(3)), ("Si", "Si"), np.array([[0] * 3, [0.25] * 3]))
    write_fields(tmp_path / "CHGCAR", poscar, Volumetric((GridBlock(np.full((40, 40, 40), 8.0)),), {}))
    text = "ENCUT = 100\nISMEAR = 0\nICHARG = {}\n"
    (tmp_path / "INCAR").write_text(text.format(11))
    (error,) = texts(read_inputs(tmp_path), "error")
    assert "no augmentation occupancies" in error and "Set ICHARG = 1" in error
    poscar = replace(poscar, scaled_ac=np.array([[0] * 3, [0.25, 0.25, 0.251]]))
    data = read_inputs(tmp_path).data["Si"].header
    number = np.zeros(occupancy_count([state.l for state in data.states], 4))
    marked = Volumetric((GridBlock(np.full((40, 40, 40), 8.0), (number, number)),), {"Si": data.md5})
    write_fields(tmp_path / "CHGCAR", poscar, marked)
    (error,) = texts(read_inputs(tmp_path), "error")
    assert "its atoms are elsewhere (by up to 0.0038 Å)" in error
    (tmp_path / "INCAR").write_text(text.format(1))
    assert not read_inputs(tmp_path).errors
    bare = Volumetric((GridBlock(np.full((40, 40, 40), 8.0)),), {})
    write_fields(tmp_path / "CHGCAR", poscar, bare)
    inputs = read_inputs(tmp_path)
    assert not inputs.errors and inputs.restart == "density"
    assert any("no augmentation occupancies: those of superposed atoms" in note for note in texts(inputs, "note"))


@pytest.mark.parametrize("tolerance", ["1E-10", "1E-14"])
def test_a_tolerance_near_rounding_finds_the_symmetry_of_exact_coordinates(read, tolerance):
    inputs = read(f"SYMPREC = {tolerance}")
    assert inputs.symmetry.order == 48 and not inputs.errors
    assert inputs.parameters.symmetry_tolerance * BOHR_ANGSTROM == pytest.approx(1e-10)


# -- files that other people wrote ----------------------------------------------------------------------------------


@pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.slow)])
def test_public_folders_give_a_calculation_or_only_clear_errors(shared_dir, step):
    folders = sorted(path for path in (shared_dir / "reference" / "vasp_inputs").iterdir() if path.is_dir())
    assert len(folders) == 25
    complete = 0
    for folder in folders[::step]:
        inputs = read_inputs(folder)
        assert all(problem.message and problem.file for problem in inputs.problems)
        if inputs.errors:
            with pytest.raises(InputError, match=r"INCAR|POSCAR|KPOINTS"):
                inputs.raise_on_errors()
        complete += inputs.parts.parameters is not None
    assert complete >= 15 / step, "refused tags do not hide the rest"


def test_parts_that_could_not_be_made_raise_the_errors(read):
    inputs = read("ENCUT = 300\nISMEAR = 7.5", SILICON.replace("0.25 0.25 0.25", "0.25 0.25"))
    with pytest.raises(InputError, match=r"(?s)INCAR line 2.*POSCAR line 10"):
        _ = inputs.structure
    with pytest.raises(InputError, match="POSCAR line 10"):
        inputs.raise_on_errors()


def test_precision_start_is_double_unless_said_otherwise(read):
    assert not read("ENCUT = 200").parameters.start_single
    assert read("ENCUT = 200").setting("PRECISION_START") == "Double"
    assert not read("ENCUT = 200\nPRECISION_START = double").parameters.start_single
    assert read("ENCUT = 200\nPRECISION_START = single").parameters.start_single
    with pytest.raises(InputError, match=r"(?s)INCAR line 2.*PRECISION_START.*half.*Double.*Single"):
        read("ENCUT = 200\nPRECISION_START = half").raise_on_errors()
    with pytest.raises(InputError, match=r"(?s)INCAR line 2.*PRECISIONSTART.*PRECISION_START"):
        read("ENCUT = 200\nPRECISIONSTART = Single").raise_on_errors()


@pytest.mark.parametrize(
    ("text", "solver", "frozen", "algo", "ialgo"),
    [
        ("", "automatic", 0, "Automatic", None),
        ("ALGO = N", "davidson", 0, "Normal", 38),
        ("IALGO = 48", "rmm", 3, "VeryFast", 48),
        ("ALGO = VeryFast\nNELMDL = -7", "rmm", 7, "VeryFast", 48),
        ("ALGO = Fast\nIALGO = 38", "davidson, rmm", 0, "Fast", 68),
        ("IALGO = 58", "conjugate", 0, "All", 58),
        ("ALGO = Conjugate", "conjugate", 0, "Conjugate", 58),
        ("ALGO = C", "conjugate", 0, "Conjugate", 58),
        ("ALGO = Chebyshev", "chebyshev", 0, "Chebyshev", None),
        ("IALGO = 90", "exact", 0, "Exact", 90),
        ("ALGO = D\nTIME = 0.2", "damped", 0, "Damped", 53),
        ("IALGO = 8", "davidson", 0, "Normal", None),
    ],
)
def test_algo_and_ialgo_choose_the_solver(read, text, solver, frozen, algo, ialgo):
    """And all tags in force say the same, whichever was written."""
    inputs = read("ENCUT = 200\n" + text)
    assert (inputs.parameters.solver, inputs.parameters.frozen_steps) == (solver, frozen)
    assert inputs.setting("ALGO") == algo
    assert inputs.setting("NELMDL") == -frozen
    assert ialgo is None or inputs.setting("IALGO") == ialgo


@pytest.mark.parametrize(("tolerance", "told"), [("1E-20", True), ("1E-10", False), ("-1E-15", True)])
def test_a_tolerance_below_rounding_gets_a_word(read, tolerance, told):
    found = [problem for problem in read(f"EDIFF = {tolerance}\n").problems if "below the rounding" in problem.message]
    assert bool(found) == told
