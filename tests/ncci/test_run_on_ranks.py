"""A case on several ranks: levels as on one, one set of files, a checkpoint that goes on anywhere, errors of all."""

import numpy as np
import pytest

from covering import but_slow
from eigenwerk.errors import InputError
from eigenwerk.ncci.inputs.inputs import read_cases
from eigenwerk.ncci.results.levels_file import read_levels, read_vectors
from eigenwerk.ncci.results.observation import Observation
from eigenwerk.ncci.run import run_case
from eigenwerk.ncci.series import run_series
from eigenwerk.parallel.process_grid import ProcessGrid
from eigenwerk.parallel.runtime import Runtime

pytestmark = pytest.mark.ranks

LITHIUM = 'nucleus = "6Li"\ninteraction = "JISP16"\nhw = 20\nNmax = 2\nM = 1\nstates = 4\nobservables = "all"\n'
HELIUM = 'nucleus = "4He"\ninteraction = "JISP16"\nhw = 20\nNmax = [2, 4]\nstates = 2\n'

ONE = HELIUM.replace("[2, 4]", "2")
SOLVER = "[solver]\ntolerance = 1e-9\n"


@pytest.fixture
def case(tmp_path):
    """A case file with this text."""

    def write(text, name="case.toml"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


def runtime_on(world):
    return Runtime(grid=ProcessGrid(world))


def levels_of(world, path):
    levels = run_case(read_cases(path)[0], runtime=runtime_on(world)).levels
    return levels.energy_n, levels.j_n, dict(levels.values), dict(levels.transitions), levels.converged


TRIANGLE = 'backend = "csb"\nlayout = "triangle"\n'

RANKS = [
    ("gloo", 3, TRIANGLE), pytest.param("gloo", 2, 'backend = "pairs"\n', marks=pytest.mark.slow),
    pytest.param("mpi", 3, "", marks=pytest.mark.slow),
    pytest.param("gloo", 5, 'backend = "csb"\n', marks=pytest.mark.slow),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("transport", "size", "solver"), RANKS)
def test_levels_are_those_of_one_rank(ranks, case, transport, size, solver):
    energy, j, values, transitions, _ = levels_of(Runtime().world, case(LITHIUM + SOLVER))
    path = case(LITHIUM + SOLVER + solver)
    results = ranks(size, transport).run(levels_of, path)
    for found in results:
        assert found[4] and found[0] == pytest.approx(energy, abs=1e-8) and found[1] == pytest.approx(j, abs=1e-6)
        assert np.array_equal(found[0], results[0][0])
        assert found[2].keys() == values.keys() and found[3].keys() == transitions.keys()
        for name, wanted in values.items():
            assert found[2][name] == pytest.approx(wanted, abs=1e-6, nan_ok=True), name
            assert np.array_equal(found[2][name], results[0][2][name], equal_nan=True), name
        for name, wanted in transitions.items():  # B = <f||O||i>^2 / (2J + 1); the sign of a state is anyone's
            assert found[3][name] ** 2 == pytest.approx(wanted**2, abs=1e-6, nan_ok=True), name


@pytest.mark.slow
def test_mixtures_are_taken_apart_as_on_one_rank(ranks, case):
    """Without Lawson's term excitations of the centre of mass share their energies."""
    text = LITHIUM.replace('"all"', "[]").replace("states = 4", "states = 7") + "lawson = 0\n" + SOLVER
    path = case(text.replace("observables", "coulomb = false\nobservables"))
    energy, j, *_ = levels_of(Runtime().world, path)
    assert len(energy) > 7
    path.write_text(path.read_text() + TRIANGLE)
    for found in ranks(3).run(levels_of, path):
        assert found[0] == pytest.approx(energy, abs=1e-7)
        # the order of states of one energy is anyone's
        pairs = [sorted(zip(np.round(e, 5), np.round(spin, 4), strict=True)) for e, spin in ((energy, j), found[:2])]
        assert pairs[0] == pairs[1]


def series(world, path, folder):
    lines = []
    found = run_series(read_cases(path), folder, runtime=runtime_on(world), say=lines.append)
    return [levels.energy_n for levels in found], lines


@pytest.mark.slow
def test_a_series_on_ranks_writes_one_set_of_files(ranks, case, tmp_path):
    path = case(HELIUM + SOLVER)
    series(Runtime().world, path, tmp_path / "one")
    results = ranks(3).run(series, path, tmp_path / "three")
    assert "3 ranks (cpu, gloo)" in "\n".join(results[0][1]) and not results[1][1] and not results[2][1]
    folders = [tmp_path / name for name in ("one", "three")]
    names = [sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*")) for folder in folders]
    assert names[0] == names[1]
    for size in ("hw20_Nmax02", "hw20_Nmax04"):
        one, three = (read_levels(tmp_path / name / size) for name in ("one", "three"))
        assert three.energy_n == pytest.approx(one.energy_n, abs=1e-8) and three.solver["ranks"] == 3
        left, right = (read_vectors(tmp_path / name / size) for name in ("one", "three"))
        assert np.abs((left * right).sum(axis=1)) == pytest.approx(1, abs=1e-9)
    assert three.smaller["overlap_nm"] == pytest.approx(one.smaller["overlap_nm"], abs=1e-7)


def begun(world, path, folder, products):
    """A run that is stopped after so many products, and one that is not; products from which it went on."""

    def stop(step):
        steps.append(step.products)
        if step.products >= products:
            raise KeyboardInterrupt

    steps = []
    try:
        result = run_case(read_cases(path)[0], runtime=runtime_on(world), checkpoint=folder, report=stop)
        return steps[0], result.levels.energy_n, result.levels.solver["products"]
    except KeyboardInterrupt:
        return steps[0], None, steps[-1]


def found_only(world, path, folder):
    """A run that is stopped when its observables begin."""

    def stop(*about):
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Observation, "compute", stop)
        run_case(read_cases(path)[0], runtime=runtime_on(world), checkpoint=folder)


def from_found(world, path, folder):
    """Steps of the solver, and energies."""
    steps = []
    result = run_case(read_cases(path)[0], runtime=runtime_on(world), checkpoint=folder, report=steps.append)
    return len(steps), result.levels.energy_n


def test_states_that_were_found_are_taken_on_another_number_of_ranks(ranks, case, tmp_path):
    path = case(HELIUM.replace("[2, 4]", "2") + SOLVER)
    wanted = run_case(read_cases(path)[0]).levels.energy_n
    ranks(3).run(found_only, path, tmp_path / "c")
    for steps, energy_n in ranks(2).run(from_found, path, tmp_path / "c"):
        assert steps == 0 and energy_n == pytest.approx(wanted, abs=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("method", but_slow(("lanczos", "lobpcg"), "lobpcg"))
def test_a_checkpoint_continues_on_another_number_of_ranks(ranks, case, tmp_path, method):
    solver = SOLVER + ('method = "lobpcg"\n' if method == "lobpcg" else "space = 20\n")
    path = case(HELIUM.replace("[2, 4]", "4") + solver)
    first, wanted, whole = begun(Runtime().world, path, tmp_path / "none", 10**6)
    stops = (30, 45) if method == "lanczos" else (24, 60)
    assert first < stops[0] < stops[1] < whole
    assert ranks(3).run(begun, path, tmp_path / "c", stops[0])[0][1] is None
    assert begun(Runtime().world, path, tmp_path / "c", stops[1])[1] is None
    results = ranks(2).run(begun, path, tmp_path / "c", 10**6)
    for start, energy, _ in results:
        assert start > stops[1] and energy == pytest.approx(wanted, abs=1e-8)


@pytest.mark.slow
def test_a_checkpoint_continues_in_another_layout(ranks, case, tmp_path):
    path = case(HELIUM.replace("[2, 4]", "4") + SOLVER + TRIANGLE)
    assert ranks(3).run(begun, path, tmp_path / "c", 25)[0][1] is None
    path.write_text(path.read_text().replace("triangle", "dealt"))
    results = ranks(2).run(begun, path, tmp_path / "c", 10**6)
    path.write_text(path.read_text().replace(TRIANGLE.replace("triangle", "dealt"), ""))
    _, wanted, _ = begun(Runtime().world, path, tmp_path / "none", 10**6)
    for start, energy, _ in results:
        assert start == 26 and energy == pytest.approx(wanted, abs=1e-8)


def failed(world, path, folder):
    try:
        series(world, path, folder)
    except InputError as error:
        return str(error)
    return None


def refused(ranks, path, folder, size=2):
    """The one message of all ranks."""
    (message,) = set(ranks(size).run(failed, path, folder))
    return message


@pytest.mark.slow
def test_a_damaged_or_foreign_checkpoint_is_refused_on_all_ranks(ranks, case, tmp_path):
    path = case(HELIUM.replace("[2, 4]", "4") + SOLVER)
    folder = tmp_path / "out" / "checkpoint"
    ranks(2).run(begun, path, folder, 12)
    vector = sorted(folder.glob("vector-*"))[3]
    whole = vector.read_bytes()
    vector.write_bytes(whole[:-5] + bytes([whole[-5] ^ 1]) + whole[-4:])
    assert "does not fit its checksum" in refused(ranks, path, tmp_path / "out")
    vector.write_bytes(whole)
    path.write_text(path.read_text().replace("states = 2", "states = 3"))
    assert "belongs to a run with states = 2; this one has 3" in refused(ranks, path, tmp_path / "out")


def test_more_ranks_than_states_are_refused_before_anything_is_written(ranks, case, tmp_path):
    path = case(HELIUM.replace("[2, 4]", "[0, 2]").replace("states = 2", "states = 1"))
    words = "4He, JISP16, hbar-omega 20 MeV, Nmax 0, M = 0 has 1 many-body state, fewer than the 3 ranks. Start one"
    assert words in refused(ranks, path, tmp_path / "out", 3) and not (tmp_path / "out").exists()


def test_back_ends_that_ranks_do_not_share_are_refused(ranks, case, tmp_path):
    path = case(HELIUM + '[solver]\nbackend = "dense"\n')
    assert "backend = 'dense' computes on one rank, but there are 2" in refused(ranks, path, tmp_path / "out")
    path.write_text(HELIUM + '[solver]\nlayout = "triangle"\n')
    words = "layout = 'triangle' takes 1, 3, 6, 10, 15, 21, ... ranks, but there are 2. Start 1 or 3, or set layout"
    assert words in refused(ranks, path, tmp_path / "out")
    path.write_text(HELIUM + '[solver]\nlayout = "dealt"\nbackend = "pairs"\n')
    with pytest.raises(InputError, match='layout belongs to backend = "csb", but it is "pairs"'):
        read_cases(path)


def of_own_case(world, folder, text, other):
    path = folder / f"rank{world.rank}" / "case.toml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(other if world.rank == 1 else text)
    return failed(world, path, folder / "out")


@pytest.mark.slow
def test_a_nucleus_without_protons_takes_pairs(ranks, case, tmp_path):
    """Stored blocks are cut at proton determinants, of which it has one."""
    text = 'Z = 0\nN = 3\ninteraction = "Minnesota"\nhw = 10\nNmax = 3\nstates = 1\n'
    one = series(Runtime().world, case(text), tmp_path / "one")[0]
    for energies, lines in ranks(2).run(series, case(text), tmp_path / "two"):
        assert energies[0] == pytest.approx(one[0], abs=1e-5) and (not lines or "pairs on 2 ranks" in "".join(lines))
    words = "which makes 1 block at most for 2 ranks. Start one rank"
    assert words in refused(ranks, case(text + '[solver]\nbackend = "csb"\n'), tmp_path / "csb")


def test_ranks_with_different_inputs_are_refused(ranks, tmp_path):
    (message,) = set(ranks(2).run(of_own_case, tmp_path, ONE, ONE.replace("states = 2", "states = 3")))
    assert message.startswith("Rank 1 on ") and "another case 4He, JISP16" in message
    assert ranks(2).run(of_own_case, tmp_path, ONE, ONE) == [None, None]
