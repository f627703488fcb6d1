"""Runs whose atoms move: they end where they should, and go on after a stop as if there had been none."""

import shutil

import numpy as np
import pytest

from eigenwerk.cli.main import main
from eigenwerk.dft.inputs.inputs import read_inputs
from eigenwerk.dft.runs.quantities.report import RunInterrupted
from eigenwerk.dft.runs.run import run_folder, run_inputs
from eigenwerk.errors import InputError
from eigenwerk.io.hdf5.hdf5_state import read_state
from eigenwerk.motion.prediction import ASPC, FIT
from running import run
from when_used import when_used

Oszicar = when_used("pymatgen.io.vasp.outputs", "Oszicar")
Vasprun = when_used("pymatgen.io.vasp.outputs", "Vasprun")
Xdatcar = when_used("pymatgen.io.vasp.outputs", "Xdatcar")

POSCAR = "silicon\n{a}\n0 .5 .5\n.5 0 .5\n.5 .5 0\nSi\n2\nDirect\n0 0 0\n{last}\n"
INCAR = {"ENCUT": 150, "EDIFF": "1E-6", "ISMEAR": 0, "SIGMA": 0.05, "NBANDS": 6, "ISYM": 0, "LCHARG": "F"}
RELAX = {"NSW": 20, "IBRION": 2, "EDIFFG": -0.01}
MOVE = {"NSW": 6, "IBRION": 0, "POTIM": 2.0, "TEBEG": 300, "RANDOM_SEED": 7}
FORCE = 0.01


def make_folder(path, a=5.43, last=".26 .24 .255", mesh="2 2 1", **tags):
    path.mkdir(exist_ok=True, parents=True)
    (path / "POSCAR").write_text(POSCAR.format(a=a, last=last))
    (path / "KPOINTS").write_text(f"mesh\n0\nGamma\n{mesh}\n")
    (path / "INCAR").write_text("".join(f"{tag} = {value}\n" for tag, value in (INCAR | tags).items()))
    return path


def places(result):
    return np.array([step.scaled_ac for step in result.ionic_history.steps])


@pytest.mark.fast("change2-POSCAR", "change1-*")
@pytest.mark.parametrize(
    ("change", "word"),
    [({"GGA": "PS"}, "GGA"), ({"EDIFF": "1E-7"}, "a smaller EDIFF"), ({"last": ".26 .24 .25"}, "POSCAR")],
)
def test_a_run_that_is_over_is_not_that_of_another_question(relaxed, tmp_path, capsys, change, word):
    folder, _ = relaxed
    shutil.copytree(folder, tmp_path / "run")
    assert main(["run", str(tmp_path / "run"), "--restart", "--no-plot"]) == 0
    assert "Nothing is left to do" in capsys.readouterr().out
    make_folder(tmp_path / "run", **(RELAX | change))
    assert main(["run", str(tmp_path / "run"), "--restart", "--no-plot"]) == 2
    assert f"asked now: {word}. Leave --restart out" in capsys.readouterr().err


@pytest.mark.slow
def test_fixed_atoms_break_the_symmetry_of_what_moves(tmp_path):
    """Layers that are held below, free above: the mirror between them is gone with the first step.  With it forces
    would be those of a symmetric slab, and the energy that of nothing (found by users: 15 eV/Å at the end)."""
    poscar = "hydrogen\n1\n3 0 0\n0 3 0\n0 0 9\nH\n3\nSelective\nDirect\n" + "".join(
        f"0 0 {z} {flags}\n" for z, flags in ((0.4, "F F F"), (0.5, "T T T"), (0.6, "T T T"))
    )
    ends = []
    for level in (2, 0):
        folder = make_folder(tmp_path / f"ISYM{level}", mesh="1 1 1", **RELAX, ISYM=level, ENCUT=200, NBANDS=4)
        (folder / "POSCAR").write_text(poscar)
        ends.append(run_folder(folder))
    kept, without = ends
    assert kept.converged and kept.ionic_history.finished
    np.testing.assert_allclose(places(kept)[-1], places(without)[-1], atol=2e-4)
    assert kept.free_energy == pytest.approx(without.free_energy, abs=1e-5)
    assert places(kept)[-1][1, 2] > 0.51  # the mirror would keep it where it was


@pytest.mark.slow
def test_a_cell_that_follows_one_direction_is_no_longer_cubic(tmp_path):
    """LATTICE_CONSTRAINTS in a cubic cell: its stress is not that of all directions made alike."""
    ends = []
    for level in (2, 0):
        tags = {**RELAX, "ISIF": 3, "LATTICE_CONSTRAINTS": "F F T", "ISYM": level, "ENCUT": 120}
        folder = make_folder(tmp_path / f"ISYM{level}", mesh="2 2 2", **tags)
        cubic = "simple\n2.8\n1 0 0\n0 1 0\n0 0 1\nSi\n1\nDirect\n0 0 0\n"
        (folder / "POSCAR").write_text(cubic)
        ends.append(run_folder(folder))
    kept, without = ends
    assert kept.ionic_history.finished and without.ionic_history.finished
    cells = [end.ionic_history.steps[-1].lattice_cv for end in ends]
    np.testing.assert_allclose(cells[0], cells[1], atol=2e-3)
    assert abs(cells[0][2, 2] - cells[0][0, 0]) > 0.05 and cells[0][0, 0] == pytest.approx(2.8, abs=1e-9)


class StopAfter:
    """Ctrl-C after so many steps of self-consistency."""

    def __init__(self, steps):
        self.left = steps

    def __call__(self, step):
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


@pytest.fixture(scope="module")
def relaxed(tmp_path_factory):
    folder = make_folder(tmp_path_factory.mktemp("relaxed") / "run", **RELAX)
    return folder, run_folder(folder)


@pytest.fixture(scope="module")
def moved(tmp_path_factory):
    folder = make_folder(tmp_path_factory.mktemp("moved") / "run", **MOVE)
    return folder, run_folder(folder)


def test_a_relaxation_ends_at_rest_where_the_crystal_is_symmetric(relaxed):
    _, result = relaxed
    assert result.converged and result.ionic_history.finished and result.ionic_history.kind == "relaxation"
    assert result.largest_force < FORCE
    np.testing.assert_allclose(np.diff(places(result)[-1], axis=0), [[0.25, 0.25, 0.25]], atol=0.01)  # 2 x 2 x 1


def test_the_last_point_is_the_ground_state_of_its_structure(relaxed, tmp_path):
    """What is predicted from earlier states is where self-consistency begins, and not what comes out."""
    _, result = relaxed
    last = " ".join(f"{x:.14f}" for x in places(result)[-1][1])
    shift = places(result)[-1][0]
    again = make_folder(tmp_path / "again")
    (again / "POSCAR").write_text(
        POSCAR.format(a=5.43, last=last).replace("Direct\n0 0 0", "Direct\n" + " ".join(f"{x:.14f}" for x in shift))
    )
    fresh = run_folder(again)
    assert result.free_energy == pytest.approx(fresh.free_energy, abs=2e-6)
    np.testing.assert_allclose(result.forces_av, fresh.forces_av, atol=3e-3)


def test_files_have_all_ionic_steps(relaxed):
    folder, result = relaxed
    count = len(result.ionic_history.steps)
    assert count > 1
    assert len(Oszicar(folder / "OSZICAR").ionic_steps) == len(Xdatcar(folder / "XDATCAR").structures) == count
    run = Vasprun(folder / "vasprun.xml", parse_potcar_file=False)
    assert run.nionic_steps == count and run.converged
    assert run.ionic_steps[-1]["e_fr_energy"] == pytest.approx(result.free_energy, abs=1e-6)


def test_states_that_follow_the_atoms_need_few_steps(moved):
    _, result = moved
    steps = [len(step.steps) for step in result.ionic_history.steps]
    assert all(step.converged for step in result.ionic_history.steps)
    assert max(steps[3:]) < steps[0] and max(steps[3:]) <= 5


def test_dynamics_without_a_bath_conserves_its_energy(moved):
    _, result = moved
    conserved = [step.conserved for step in result.ionic_history.steps]
    kinetic = [step.kinetic for step in result.ionic_history.steps]
    assert np.ptp(conserved) < 0.02 * max(np.ptp(kinetic), 0.02)


@pytest.mark.slow
def test_a_run_that_was_stopped_in_its_first_ionic_step_goes_on_within_it(moved, tmp_path):
    _, whole = moved
    folder = make_folder(tmp_path / "run", **MOVE)
    with pytest.raises(RunInterrupted) as stopped:
        run_folder(folder, on_step=StopAfter(4))
    assert stopped.value.result.ionic_history.steps == ()
    steps = []
    result = run_inputs(read_inputs(folder), on_step=steps.append, resume=True)
    assert any("within the first ionic step" in note for note in result.notes)
    assert len(steps) == sum(len(step.steps) for step in whole.ionic_history.steps) - 4
    np.testing.assert_allclose(places(result), places(whole), rtol=0, atol=1e-11)


HYDROGEN = "hydrogen\n1\n4 0 0\n0 4.2 0\n0 0 5\nH\n2\nCartesian\n2 2 2.1\n2 2.05 2.9\n"


@pytest.mark.slow
@pytest.mark.parametrize("stop", [3, 7])
@pytest.mark.parametrize("form", ["real in space", "real by inversion", "complex"])
def test_dynamics_that_is_stopped_again_and_again_is_the_same_to_the_last_bit(form, stop, tmp_path):
    """In whichever form orbitals are, files give them back as they were, and nothing else is needed to go on."""
    tags = MOVE | {"NSW": 4, "MDALGO": 3, "LANGEVIN_GAMMA": 10}
    tags |= {"ISIF": 3, "LANGEVIN_GAMMA_L": 10} if form == "real by inversion" else {}

    def make(name):
        folder = make_folder(tmp_path / name, last=".25 .25 .25" if "inv" in form else ".26 .24 .255", **tags)
        if form == "real in space":
            (folder / "POSCAR").write_text(HYDROGEN)
            (folder / "KPOINTS").write_text("Gamma\n0\nGamma\n1 1 1\n")
        elif form == "complex":
            text = (folder / "POSCAR").read_text().replace("\nSi\n2\n", "\nSi C\n1 1\n")
            (folder / "POSCAR").write_text(text)
            (folder / "INCAR").write_text((folder / "INCAR").read_text().replace("GAMMA = 10", "GAMMA = 10 10"))
        return folder

    whole, folder, jobs, result = run_folder(make("whole")), make("pieces"), 0, None
    while result is None:
        try:
            result = run_inputs(read_inputs(folder), on_step=StopAfter(stop), resume=jobs > 0)
        except RunInterrupted:
            jobs += 1
    assert jobs > 1
    np.testing.assert_array_equal(places(result), places(whole))
    assert [step.conserved for step in result.ionic_history.steps] == [step.conserved
        for step in whole.ionic_history.steps]


@pytest.mark.slow
def test_a_state_of_other_places_does_not_begin_a_run_that_goes_on(tmp_path):
    folder = make_folder(tmp_path / "run", **MOVE)
    with pytest.raises(RunInterrupted):
        run_folder(folder, on_step=StopAfter(2))
    make_folder(folder, last=".27 .24 .255", **(MOVE | {"NSW": 1}))
    result = run_inputs(read_inputs(folder), resume=True)
    assert result.converged and any("begins at its start" in note for note in result.notes)


@pytest.mark.parametrize(("kind", "stop"), [
    ("relaxed", 7), *(pytest.param("moved", stop, marks=pytest.mark.slow) for stop in (9, 14, 15)),
])  # fmt: skip
def test_a_run_that_was_stopped_goes_on_to_the_same_end(kind, stop, request, tmp_path):
    _, whole = request.getfixturevalue(kind)
    folder = make_folder(tmp_path / "run", **(RELAX if kind == "relaxed" else MOVE))
    with pytest.raises(RunInterrupted) as stopped:
        run_folder(folder, on_step=StopAfter(stop))
    assert not stopped.value.result.converged
    assert len(stopped.value.result.ionic_history.steps) < len(whole.ionic_history.steps)
    result = run_inputs(read_inputs(folder), resume=True)
    assert len(result.ionic_history.steps) == len(whole.ionic_history.steps)
    np.testing.assert_allclose(places(result), places(whole), rtol=0, atol=1e-11)
    assert len(Oszicar(folder / "OSZICAR").ionic_steps) == len(whole.ionic_history.steps)


@pytest.mark.slow
def test_a_cell_that_relaxes_ends_without_stress_at_its_own_volume(tmp_path):
    folder = make_folder(tmp_path / "run", a=5.3, last=".25 .25 .25", mesh="2 2 2", ISIF=3, ENCUT=200, **RELAX)
    result = run_folder(folder)
    assert result.converged
    first, last = result.ionic_history.steps[0], result.ionic_history.steps[-1]
    assert first.stress_vv.trace() / 3 > 20 and np.abs(last.stress_vv).max() < 0.6  # kB
    volumes = [abs(np.linalg.det(step.lattice_cv)) for step in result.ionic_history.steps]
    assert volumes[-1] > 1.02 * volumes[0]
    # on the fixed plane waves the energy goes down with the stress
    assert last.free_energy < first.free_energy


def test_a_relaxation_without_enough_steps_has_not_converged(tmp_path):
    result = run_folder(make_folder(tmp_path / "run", **(RELAX | {"NSW": 1})))
    assert not result.converged and not result.ionic_history.finished
    assert len(result.ionic_history.steps) == 1


def test_what_is_over_does_not_go_on(relaxed):
    folder, _ = relaxed
    with pytest.raises(InputError, match="this run is over"):
        run_inputs(read_inputs(folder), resume=True)


@pytest.mark.slow
def test_another_structure_does_not_go_on_with_a_run(tmp_path):
    folder = make_folder(tmp_path / "run", **MOVE)
    with pytest.raises(RunInterrupted):
        run_folder(folder, on_step=StopAfter(9))
    make_folder(folder, last=".27 .24 .255", **MOVE)
    with pytest.raises(InputError, match=r"began elsewhere.*Restore its POSCAR"):
        run_inputs(read_inputs(folder), resume=True)
    make_folder(folder, **RELAX)
    with pytest.raises(InputError, match="a run of dynamics, and INCAR asks for relaxation"):
        run_inputs(read_inputs(folder), resume=True)


@pytest.mark.slow
def test_going_on_without_anything_saved_begins_at_the_start(tmp_path):
    folder = make_folder(tmp_path / "run", **(MOVE | {"NSW": 1}))
    result = run_inputs(read_inputs(folder), resume=True)
    assert result.converged and any("begins at its start" in note for note in result.notes)


def test_dynamics_and_relaxation_are_predicted_by_the_method_that_serves_each_best(tmp_path):
    kinds = {"moved": (MOVE, ASPC), "relaxed": (RELAX, FIT)}
    for name, (tags, method) in kinds.items():
        assert read_inputs(make_folder(tmp_path / name, **tags)).motion.prediction == method
    assert read_inputs(make_folder(tmp_path / "second", **MOVE, IWAVPR=12)).motion.prediction == "second"


@pytest.mark.slow
def test_two_ranks_move_atoms_as_one_does(moved, tmp_path):
    """By the command, which shares out bands and plane waves."""
    folder = make_folder(tmp_path / "run", **MOVE)
    done = run(str(folder), "--ranks", "2", "--quiet", "--no-plot", "--device", "cpu")
    assert done.returncode == 0, done.stderr
    steps = read_state(folder / "eigenwerk.h5", only=["motion"])["motion"]["steps"]
    np.testing.assert_allclose(steps["scaled_ac"], places(moved[1]), rtol=0, atol=1e-10)
    energies = [step.free_energy for step in moved[1].ionic_history.steps]
    np.testing.assert_allclose(steps["free_energy"], energies, rtol=0, atol=2e-8)
