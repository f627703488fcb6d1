"""Meshes of k-points with fewer operations than the crystal: all operations act, as for lists.

Silicon on Monkhorst-Pack 4 x 4 x 4 keeps 12 of 48 operations; by these alone it had forces of 0.034 eV/Å at rest, 9.9
kbar of shear, relaxed to 60.9 degrees and split its optical mode.
"""

import shutil
from dataclasses import replace

import numpy as np
import pytest

from eigenwerk.dft.calculation import Calculation
from eigenwerk.dft.crystal.kpoints import explicit, mesh_kpoints
from eigenwerk.dft.crystal.stars import under
from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.crystal.symmetry import subgroup
from eigenwerk.dft.inputs.inputs import read_inputs
from eigenwerk.dft.inputs.steps import points
from eigenwerk.dft.inputs.steps.kpoints import kpoints_of_file
from eigenwerk.dft.runs.run import run_folder
from eigenwerk.functionals.hybrid import Hybrid
from eigenwerk.io.vasp.input.poscar import read_poscar
from eigenwerk.units import BOHR_ANGSTROM, FORCE_EV_PER_ANGSTROM, HARTREE_EV, STRESS_KILOBAR

FCC = (1 - np.eye(3)) / 2
HEX = np.array([[1.0, 0, 0], [-0.5, np.sqrt(0.75), 0], [0, 0, 1.0]])
BCC = 0.5 - np.eye(3)
CENTRED, MONKHORST_PACK = True, False
HSE, PBE0 = Hybrid.of(0.25, 0.11), Hybrid.of(0.25)

CRYSTALS = {
    "silicon": (5.43 * FCC, ("Si", "Si"), [[0] * 3, [0.25] * 3], None),
    "aluminium": (4.05 * FCC, ("Al",), [[0] * 3], None),
    "sodium": (4.2 * BCC, ("Na",), [[0] * 3], None),
    "magnesium": (HEX * [3.21, 3.21, 5.21], ("Mg", "Mg"), [[1 / 3, 2 / 3, 0.25], [2 / 3, 1 / 3, 0.75]], None),
    "boron nitride": (
        HEX * [2.51, 2.51, 6.7], ("B", "N", "B", "N"),
        [[1 / 3, 2 / 3, 0.25], [2 / 3, 1 / 3, 0.25], [2 / 3, 1 / 3, 0.75], [1 / 3, 2 / 3, 0.75]], None,
    ),
    "antiferromagnet": (np.diag([2.5, 2.5, 3.5]), ("Fe", "Fe"), [[0] * 3, [0.5] * 3], (2.0, -2.0)),
}  # fmt: skip
NONE = (0.0, 0.0, 0.0)

CASES = {
    # crystal, mesh, shift, Gamma-centred, operations of the mesh and of the crystal, settings
    "diamond": ("silicon", (2, 2, 2), NONE, MONKHORST_PACK, 12, 48, {"cutoff_eV": 100.0}),
    "metal, tetrahedra": (
        "aluminium", (4, 4, 4), NONE, MONKHORST_PACK, 12, 48, {"cutoff_eV": 100.0, "ismear": -5, "bands": 5},
    ),
    "bcc, shifted": (
        "sodium", (3, 3, 3), (0.5, 0, 0), CENTRED, 8, 48, {"cutoff_eV": 100.0, "ismear": 0, "sigma_eV": 0.3},
    ),
    "hexagonal": (
        "magnesium", (4, 4, 2), NONE, MONKHORST_PACK, 8, 24,
        {"cutoff_eV": 80.0, "ismear": -5, "bands": 14},
    ),
    "hexagonal, Gamma shifted": (
        "boron nitride", (2, 2, 1), (0.5, 0.5, 0.5), CENTRED, 8, 24, {"cutoff_eV": 150.0},
    ),
    "spin flips": (
        "antiferromagnet", (2, 2, 2), (0, 0.3, 0.25), CENTRED, 8, 32,
        {"cutoff_eV": 150.0, "ismear": 0, "sigma_eV": 0.3, "spins": 2},
    ),
    "screened exchange": ("silicon", (2, 2, 2), NONE, MONKHORST_PACK, 12, 48, {"cutoff_eV": 80.0, "hybrid": HSE}),
}  # fmt: skip
SLOW = {"hexagonal", "hexagonal, Gamma shifted", "spin flips", "screened exchange"}
CASES = [pytest.param(*case, id=name, marks=[pytest.mark.slow] * (name in SLOW)) for name, case in CASES.items()]


def structure_of(name: str) -> Structure:
    cell_cv, symbols, scaled_ac, moment_a = CRYSTALS[name]
    return Structure(np.array(cell_cv) / BOHR_ANGSTROM, symbols, scaled_ac, moment_a)


def on_mesh(calculation, structure, mesh, shift=NONE, centred=MONKHORST_PACK, **settings) -> Calculation:
    made = calculation(structure, mesh=(4, 4, 4), symmetry_level=2, **{"ediff_eV": 1e-8, **settings})
    kpoints = mesh_kpoints(mesh, shift, centred, made.kpoints.symmetry)
    parameters = replace(made.parameters, stress=True)
    return Calculation(structure, kpoints, parameters, made.datasets, real=True)


@pytest.mark.fast("metal, tetrahedra")
@pytest.mark.parametrize(("name", "mesh", "shift", "centred", "kept", "order", "settings"), CASES)
def test_a_mesh_is_the_list_of_its_points_and_nothing_moves_at_rest(
    calculation, name, mesh, shift, centred, kept, order, settings
):
    of_mesh = on_mesh(calculation, structure_of(name), mesh, shift, centred, **settings)
    kpoints = of_mesh.kpoints
    assert (kpoints.kept_operations, kpoints.symmetry.order) == (kept, order)
    listed = explicit(kpoints.point_kc, kpoints.weight_k, kpoints.symmetry)
    listed = replace(listed, tetrahedra=kpoints.tetrahedra)
    of_list = Calculation(of_mesh.structure, listed, of_mesh.parameters, of_mesh.datasets, real=True)
    grounds = [one.run() for one in (of_mesh, of_list)]
    energies = [ground.state.energies.free * HARTREE_EV for ground in grounds]
    assert energies[0] == pytest.approx(energies[1], abs=1e-9)
    for ground in grounds:
        assert ground.state.converged
        assert np.abs(ground.forces_av).max() * FORCE_EV_PER_ANGSTROM < 1e-9
        assert np.abs(ground.stress_vv - np.diag(np.diag(ground.stress_vv))).max() * STRESS_KILOBAR < 1e-6
        assert abs(ground.stress_vv[0, 0] - ground.stress_vv[1, 1]) * STRESS_KILOBAR < 1e-6
        if order == 48:
            assert abs(ground.stress_vv[0, 0] - ground.stress_vv[2, 2]) * STRESS_KILOBAR < 1e-6
    np.testing.assert_allclose(grounds[0].stress_vv, grounds[1].stress_vv, atol=1e-9)


UNION = {
    "diamond": ("silicon", (2, 2, 2), MONKHORST_PACK, {"cutoff_eV": 90.0}),
    "tetrahedra": ("aluminium", (2, 2, 2), MONKHORST_PACK, {"cutoff_eV": 90.0, "ismear": -4, "bands": 5}),
    "tetrahedra of a mesh with all operations": (
        "aluminium", (3, 3, 3), CENTRED, {"cutoff_eV": 90.0, "ismear": -4, "bands": 5},
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.fast("tetrahedra")
@pytest.mark.parametrize(("name", "mesh", "centred", "settings"), UNION.values(), ids=UNION)
def test_energies_do_not_jump_where_operations_are_lost(calculation, name, mesh, centred, settings):
    """The points that displaced atoms get give the energy, forces and stress of the start, by no symmetry."""
    first = on_mesh(calculation, structure_of(name), mesh, NONE, centred, ediff_eV=1e-9, **settings)
    symmetry = first.kpoints.symmetry
    other = first.at_points(under(first.kpoints, subgroup(symmetry, np.arange(symmetry.order) == 0)))
    assert len(other.kpoints.point_kc) > len(first.kpoints.point_kc)
    ground, without = first.run(), other.run()
    assert without.state.energies.free == pytest.approx(ground.state.energies.free, abs=1e-8 / HARTREE_EV)
    assert np.abs(without.forces_av).max() * FORCE_EV_PER_ANGSTROM < 1e-3  # the grid's
    difference_vv = without.stress_vv - ground.stress_vv
    assert np.abs(difference_vv).max() * STRESS_KILOBAR < 0.05


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [{"cutoff_eV": 120.0}, {"cutoff_eV": 120.0, "ismear": -4}, {"hybrid": HSE}, {"hybrid": PBE0}],
    ids=["semilocal", "tetrahedra", "screened", "1/r"],
)
def test_forces_and_stress_are_derivatives_of_the_energy(calculation, settings):
    """Silicon bent along a bond that is not the axis of the mesh: 4 of 12 operations are the mesh's."""

    def bent(move: float, strain: float = 0.0) -> Structure:
        scaled_ac = [[-1.5 * move, 0.5 * move, 0.5 * move], [0.25 + 1.5 * move, 0.25 - 0.5 * move, 0.25 - 0.5 * move]]
        return Structure(5.43 * (1 + strain) * FCC / BOHR_ANGSTROM, ("Si", "Si"), scaled_ac)

    first = on_mesh(calculation, bent(0.012), (2, 2, 2), **{"cutoff_eV": 80.0, "ediff_eV": 1e-9, **settings})
    assert (first.kpoints.kept_operations, first.kpoints.symmetry.order) == (4, 12)
    ground, step = first.run(), 0.0005

    def slope(one: Structure, other: Structure) -> float:
        energies = [first.moved(structure).run().state.energies.free for structure in (one, other)]
        return (energies[0] - energies[1]) / (2 * step)

    along_v = np.array([3.0, -1, -1]) @ first.structure.lattice_cv / 2
    force = (ground.forces_av[1] - ground.forces_av[0]) @ along_v
    assert force == pytest.approx(-slope(bent(0.012 + step), bent(0.012 - step)), rel=3e-4)
    assert abs(force) > 0.5
    pressure = np.trace(ground.stress_vv) * abs(np.linalg.det(first.structure.lattice_cv))
    assert pressure == pytest.approx(slope(bent(0.012, step), bent(0.012, -step)), abs=1e-5)


def taken(shared_dir, tmp_path, case, kpoints=None):
    """A copy of a reported case, perhaps with other k-points."""
    source = shared_dir / "reference" / "reported" / case
    for name in ("INCAR", "KPOINTS", "POSCAR"):
        (tmp_path / name).write_text((source / name).read_text())
    if kpoints is not None:
        shutil.copyfile(source / kpoints, tmp_path / "KPOINTS")
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("kpoints", [None, "IBZKPT_of_the_mesh"], ids=["mesh", "list"])
def test_reported_silicon_has_no_forces_and_no_shear(shared_dir, tmp_path, kpoints):
    found = run_folder(taken(shared_dir, tmp_path, "mesh_si_m444", kpoints))
    assert found.converged
    assert found.free_energy == pytest.approx(-10.79174617, abs=2e-8)
    assert np.abs(found.forces_av).max() < 1e-9
    np.testing.assert_allclose(-10 * found.stress_vv, 2.887 * np.eye(3), atol=2e-3)


@pytest.mark.slow
def test_reported_silicon_stays_cubic_where_its_cell_relaxes(shared_dir, tmp_path):
    folder = taken(shared_dir, tmp_path, "mesh_si_relax")
    assert run_folder(folder).converged
    end = read_poscar(folder / "CONTCAR")
    length_c = np.linalg.norm(end.lattice_cv, axis=1)
    angle_cc = np.degrees(np.arccos(end.lattice_cv @ end.lattice_cv.T / np.outer(length_c, length_c) - 1e-16))
    np.testing.assert_allclose(angle_cc[np.triu_indices(3, 1)], 60.0, atol=1e-9)
    np.testing.assert_allclose(end.scaled_ac, [[0] * 3, [0.25] * 3], atol=1e-12)


VIBRATIONS = "ENCUT = 120\nISMEAR = 0\nSIGMA = 0.05\nEDIFF = 1E-8\nNSW = 1\nPREC = Accurate\nLWAVE = F\nLCHARG = F\n"


@pytest.mark.slow
@pytest.mark.parametrize("ibrion", [5, 6])
def test_vibrations_on_a_mesh_with_less_symmetry(shared_dir, tmp_path, ibrion):
    """One optical mode, and elastic constants of a cube; the list of its irreducible points has the same."""
    modes, tensors = [], []
    for name, kpoints in {"mesh": "mesh\n0\nM\n2 2 2\n", "list": None}.items():
        folder = tmp_path / name
        folder.mkdir()
        taken(shared_dir, folder, "mesh_si_relax")
        (folder / "INCAR").write_text(VIBRATIONS + f"IBRION = {ibrion}\nISIF = {3 if ibrion == 6 else 2}\n")
        (folder / "KPOINTS").write_text(kpoints or (tmp_path / "mesh" / "list").read_text())
        found = run_folder(folder)
        modes.append(found.ionic_history.more["frequencies_per_cm"])
        tensors.append(np.array(found.ionic_history.more.get("elastic_GPa", np.eye(6))))
        if name == "mesh":
            assert (folder / "IBZKPT").is_file()
            points = read_inputs(folder).kpoints
            rows = [f"{x!r} {y!r} {z!r} {w!r}" for (x, y, z), w in zip(
                points.point_kc.tolist(), points.weight_k.tolist(), strict=True)]  # fmt: skip
            (folder / "list").write_text(f"list\n{len(rows)}\nReciprocal\n" + "\n".join(rows) + "\n")
    np.testing.assert_allclose(modes[0], modes[1], atol=1e-3)
    np.testing.assert_allclose(modes[0][:3], np.mean(modes[0][:3]), atol=0.05)
    assert 400 < modes[0][0] < 600
    np.testing.assert_allclose(tensors[0], tensors[1], atol=1e-3)
    np.testing.assert_allclose(np.diag(tensors[0]).reshape(2, 3).std(1), 0, atol=1e-6)
    np.testing.assert_allclose(tensors[0][:3, 3:], 0, atol=1e-6)


@pytest.fixture
def of_old(tmp_path, monkeypatch):
    """A folder with a state whose density has the operations of its mesh alone, as eigenwerk once made them."""
    folder = tmp_path / "old"
    folder.mkdir()
    write(folder, "")
    with monkeypatch.context() as patched:
        patched.setattr(points, "kpoints_of_file", lambda *given: kpoints_of_file(*given).of_kept_operations())
        found = run_folder(folder)
    assert np.abs(found.forces_av).max() > 0.01
    return folder


def write(folder, tags):
    (folder / "INCAR").write_text(f"ENCUT = 120\nISMEAR = 0\nSIGMA = 0.05\nEDIFF = 1E-6\nLCHARG = F\n{tags}")
    (folder / "KPOINTS").write_text("mesh\n0\nM\n2 2 2\n")
    (folder / "POSCAR").write_text("Si\n5.43\n0 .5 .5\n.5 0 .5\n.5 .5 0\nSi\n2\nDirect\n0 0 0\n.25 .25 .25\n")


@pytest.mark.slow
def test_a_run_goes_on_from_a_density_with_fewer_operations_and_gives_it_all(of_old):
    write(of_old, "ISTART = 1\n")
    found = run_folder(of_old)
    assert any("mixing starts afresh: the density had fewer operations than now" in note for note in found.notes)
    assert found.converged
    assert len(found.steps) < 6
    assert np.abs(found.forces_av).max() < 1e-9


def test_bands_of_such_a_density_that_is_kept_are_those_of_its_operations(of_old):
    write(of_old, "ICHARG = 11\n")
    found = run_folder(of_old)
    words = "this density has the operations of the mesh of k-points alone (12 of 48): they are used"
    assert any(words in note for note in found.notes)
    assert found.converged
