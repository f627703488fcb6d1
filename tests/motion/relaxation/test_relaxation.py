"""Relaxations end in minima, in few points, and move what they may move."""

from dataclasses import replace

import numpy as np
import pytest

from covering import covering
from eigenwerk.motion.mover import drive
from eigenwerk.motion.relaxation.chart import ISIF, Chart, free_strains
from eigenwerk.motion.relaxation.relaxation import relaxation
from eigenwerk.motion.relaxation.relaxation_settings import RelaxationSettings
from eigenwerk.motion.surface import Arrangement, SurfacePoint
from pair_surface import FCC, Pairwise, cluster, crystal


def mover(start, free_ac=None, **settings):
    atoms = len(start.scaled_ac)
    return relaxation(RelaxationSettings(**settings), start, np.full(atoms, 40.0), ("Ag",) * atoms, free_ac)


def test_gradient_is_the_derivative_of_the_energy_by_atoms_and_strain():
    start = crystal(rattle=0.1, strain=0.1)
    chart = Chart(start.lattice_cv, np.ones((4, 3), bool), np.eye(6))
    origin, surface = chart.vector(start), Pairwise()
    random = np.random.default_rng(2)
    z = origin + np.concatenate([random.normal(size=12) * 0.05, random.normal(size=6) * 0.05])
    direction = chart.project(random.normal(size=18))

    def energy(share):
        return surface(chart.arrangement(z + share * direction, start.scaled_ac, origin)).free_energy

    gradient = chart.gradient(z, surface(chart.arrangement(z, start.scaled_ac, origin)))
    slope = (energy(1e-4) - energy(-1e-4)) / 2e-4
    assert gradient @ direction == pytest.approx(slope, rel=1e-6)


@pytest.mark.fast("start0-*", "start4-*")
@pytest.mark.parametrize(("start", "isif", "most"), [
    (cluster(4), 2, 20), (cluster(7), 2, 20), (cluster(8), 2, 28), (crystal(rattle=0.3), 2, 12),
    (crystal(rattle=0.2, strain=0.1), 3, 16), (crystal(4.5, strain=0.05), 3, 18), (crystal(3.6), 7, 10),
])  # fmt: skip
def test_few_points_lead_to_a_minimum(start, isif, most):
    relax, surface = mover(start, isif=isif), Pairwise()
    found = drive(relax, surface)
    point, report = found[-1]
    assert relax.finished and report.largest_force <= 0.01
    assert len(found) == surface.calls <= most
    assert point.free_energy < found[0][0].free_energy
    if isif == 3:
        assert np.abs(point.stress_vv).max() < 0.5 / 1602


@pytest.mark.fast("settings0-16")
@pytest.mark.parametrize(("settings", "most"), [
    ({"method": "diis"}, 16), ({"method": "damped"}, 80), ({"method": "damped", "smass": 0.4}, 45),
    ({"method": "damped", "smass": 2.0}, 45),
])  # fmt: skip
def test_other_methods_find_the_same_minimum(settings, most):
    start = crystal(rattle=0.2, strain=0.1)
    best = drive(mover(start, isif=3), Pairwise())[-1][0]
    relax = mover(start, isif=3, **settings)
    found = drive(relax, Pairwise())
    assert relax.finished and len(found) <= most
    assert found[-1][0].free_energy == pytest.approx(best.free_energy, abs=1e-4)


@pytest.mark.fast("0", "2", "3", "8")
@pytest.mark.parametrize("isif", ISIF)
def test_isif_says_what_moves(isif):
    start = crystal(4.2, rattle=0.1, strain=0.08)
    relax = mover(start, isif=isif, most_points=6)
    last = drive(relax, Pairwise())[-1][0].arrangement
    ions, cell = ISIF[isif]
    metric = [x.lattice_cv @ x.lattice_cv.T for x in (start, last)]
    assert np.array_equal(start.scaled_ac, last.scaled_ac) != ions
    assert np.array_equal(start.lattice_cv, last.lattice_cv) == (cell == "")
    if cell == "shape":
        assert last.volume == pytest.approx(start.volume, rel=1e-12)
    if cell == "volume":
        assert np.allclose(metric[1] / metric[0], (last.volume / start.volume) ** (2 / 3), rtol=1e-12)
    if cell in ("all", "volume"):
        assert abs(last.volume / start.volume - 1) > 0.01


@pytest.mark.slow
def test_constrained_directions_of_the_lattice_keep_their_vectors():
    start = crystal(4.2, rattle=0.1)
    relax = mover(start, isif=3, lattice_free=(True, True, False), most_points=40)
    last = drive(relax, Pairwise())[-1][0]
    assert relax.finished
    assert np.array_equal(last.arrangement.lattice_cv[2], [0, 0, 4.2]) and not last.arrangement.lattice_cv[:2, 2].any()
    assert np.abs(last.stress_vv[:2, :2]).max() < 0.5 / 1602 < np.abs(last.stress_vv[2, 2])
    assert len(free_strains("all", (True, True, False))) == 3


def test_selective_dynamics_keeps_direct_coordinates_to_the_last_bit():
    lattice = np.array([[3.9, 0, 0], [0.8, 3.8, 0], [0.2, 0.5, 4.0]])
    start = Arrangement(lattice, FCC + 0.05 * np.random.default_rng(0).uniform(-1, 1, (4, 3)))
    free = np.array([[1, 1, 1], [0, 1, 0], [1, 0, 1], [0, 0, 0]], bool)
    relax = mover(start, free, isif=3, most_points=60)
    last = drive(relax, Pairwise())[-1][0].arrangement
    assert relax.finished
    assert np.array_equal(last.scaled_ac[~free], start.scaled_ac[~free])
    assert (last.scaled_ac != start.scaled_ac)[free].all()


def test_the_centre_of_the_atoms_stays():
    start = crystal(rattle=0.3)
    last = drive(mover(start), Pairwise())[-1][0].arrangement
    assert np.allclose(last.scaled_ac.mean(axis=0), start.scaled_ac.mean(axis=0), atol=1e-12)


def test_symmetry_of_the_start_is_kept():
    """A cube with its face centres pushed along the axes: mirror planes and a threefold axis, in every point."""
    pushed = FCC + 0.02 * np.array([[1, 1, 1], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    found = drive(mover(Arrangement(4.1 * np.eye(3), pushed), isif=3), Pairwise())
    for point, _ in found:
        scaled = point.arrangement.scaled_ac
        turned = np.roll(scaled, 1, axis=1)[[0, 3, 1, 2]]
        assert np.allclose(turned - turned[0], scaled - scaled[0], atol=1e-10)
        assert np.allclose(np.roll(point.arrangement.lattice_cv, 1, (0, 1)), point.arrangement.lattice_cv, atol=1e-10)


def test_pressure_is_what_the_stress_becomes():
    pressure = 0.05
    relax = mover(crystal(), isif=3, pressure=pressure)
    last = drive(relax, Pairwise())[-1][0]
    assert relax.finished and np.allclose(last.stress_vv, -pressure * np.eye(3), atol=0.5 / 1602)


@pytest.mark.fast("0.003")
@pytest.mark.parametrize("noise", [0.003, 0.008, 0.03])
def test_noise_of_the_size_told_ends(noise):
    relax = mover(crystal(rattle=0.3), most_points=80)
    found = drive(relax, Pairwise(noise=noise))
    assert len(found) < 40 and relax.ask() is None
    exact = Pairwise()(found[-1][0].arrangement)
    assert np.abs(exact.forces_av).max() < 0.01 + 5 * noise


def test_a_point_that_did_not_converge_is_not_believed():
    surface, calls = Pairwise(), []

    def sometimes(arrangement):
        calls.append(arrangement)
        point = surface(arrangement)
        if len(calls) in (1, 3, 5, 6):
            return SurfacePoint(arrangement, -1e3, 100 + 0 * point.forces_av, None, converged=False)
        return point

    relax = mover(crystal(rattle=0.3))
    found = drive(relax, sometimes)
    assert relax.finished
    assert [bool(report.words) for _, report in found[:6]] == [True, False, True, False, True, True]
    last = [arrangement.position_av for arrangement in calls]
    assert np.linalg.norm(last[6] - last[3]) < np.linalg.norm(last[5] - last[3]) < np.linalg.norm(last[4] - last[3])


def test_atoms_that_would_meet_are_kept_apart():
    """Two atoms that an energy without repulsion pulls together."""

    def attractive(arrangement):
        vector = arrangement.position_av[1] - arrangement.position_av[0]
        distance = np.linalg.norm(vector)
        pull = 20 * vector / distance
        return SurfacePoint(arrangement, 20 * distance, np.stack([pull, -pull]))

    relax = mover(Arrangement(20 * np.eye(3), np.array([[0.4, 0.5, 0.5], [0.6, 0.5, 0.5]])))
    found = drive(relax, attractive)
    last = relax.arrangement.position_av
    assert not relax.finished and "given up: atoms 1 and 2 would come as near" in relax.status
    assert 1.2 < np.linalg.norm(last[1] - last[0]) < 1.6 and len(found) < 60


def test_a_cell_that_collapses_is_given_up():
    def shrinking(arrangement):
        stress = 0.5 * np.eye(3)
        return SurfacePoint(arrangement, 0.5 * arrangement.volume, np.zeros((4, 3)), stress)

    relax = mover(crystal(8.0), isif=7)
    drive(relax, shrinking)
    assert not relax.finished and "given up" in relax.status
    assert relax.arrangement.volume > 0.19 * 8.0**3


def test_an_energy_criterion_ends_where_the_energy_stays():
    relax = mover(crystal(rattle=0.3), force_tolerance=None, energy_tolerance=1e-3)
    found = drive(relax, Pairwise())
    energies = [point.free_energy for point, _ in found]
    assert relax.finished and abs(energies[-1] - energies[-2]) < 1e-3 <= abs(energies[-2] - energies[-3])


@pytest.mark.slow
def test_without_a_criterion_all_points_are_used():
    relax = mover(crystal(rattle=0.1), force_tolerance=None, most_points=15)
    assert len(drive(relax, Pairwise())) == 15 and relax.ask() is None and not relax.finished


def test_the_error_that_forces_may_have_falls_with_them():
    found = drive(mover(crystal(rattle=0.3)), Pairwise())
    wanted = [point.arrangement.force_error for point, _ in found]
    assert wanted[0] is None
    for (_, report), error in zip(found[:-1], wanted[1:], strict=True):
        assert 0.003 <= error <= max(0.05 * report.largest_force, 0.003)


def test_small_forces_that_are_not_well_known_are_computed_again():
    """An answer as exact as asked for costs one point of the same arrangement, and no step."""

    def as_asked(arrangement):
        error = 0.02 if arrangement.force_error is None or arrangement.force_error > 0.0031 else 0.001
        exact = Pairwise()(arrangement)
        return SurfacePoint(arrangement, exact.free_energy, exact.forces_av, exact.stress_vv, error)

    relax = mover(Arrangement(3.9 * np.eye(3), FCC))
    found = drive(relax, as_asked)
    assert relax.finished and len(found) == 2
    assert np.array_equal(found[0][0].arrangement.scaled_ac, found[1][0].arrangement.scaled_ac)


def test_a_molecule_turns_without_growing():
    """A bent step keeps bonds: a stiff dimer beside a plane that turns it."""

    def torque(arrangement):
        one, two = arrangement.position_av
        vector = two - one
        length = np.linalg.norm(vector)
        push = 40 * (length - 2.4) * vector / length
        forces = np.stack([push, -push]) + 0.4 * np.array([[0, 0, -1], [0, 0, 1]])
        energy = 20 * (length - 2.4) ** 2 - 0.4 * vector[2]
        return SurfacePoint(arrangement, energy, forces)

    relax = mover(Arrangement(20 * np.eye(3), np.array([[0.5, 0.5, 0.5], [0.62, 0.5, 0.51]])))
    found = drive(relax, torque)
    last = relax.arrangement.position_av
    assert relax.finished and len(found) <= 16
    lengths = [np.linalg.norm(np.diff(point.arrangement.position_av, axis=0)) for point, _ in found]
    assert max(lengths) < 2.6 and (last[1] - last[0])[2] == pytest.approx(2.41, abs=0.01)


@pytest.mark.slow
def test_a_cell_under_stress_is_not_left_because_forces_vanish_by_symmetry():
    """FCC far from its lattice constant: forces are zero in every point, and known to some error."""
    surface = Pairwise()

    def unsure(arrangement):
        return replace(surface(arrangement), force_error=1e-4)

    free = mover(crystal(4.9), isif=3)
    wanted = drive(free, surface)[-1][0].arrangement.lattice_cv
    relax = mover(crystal(4.9), isif=3, most_points=100, first_radius=0.1, longest_radius=0.1)
    found = drive(relax, unsure)
    assert relax.finished and len(found) > 8
    assert np.allclose(found[-1][0].arrangement.lattice_cv, wanted, atol=1e-3)


def test_a_surface_that_never_converges_is_given_up():
    start = crystal(rattle=0.3)
    relax = mover(start)
    found = drive(relax, lambda at: SurfacePoint(at, 0.0, np.zeros((4, 3)), None, converged=False))
    assert len(found) == 6 and not relax.finished and "given up" in relax.status
    assert np.array_equal(relax.arrangement.scaled_ac, start.scaled_ac)


def only_plain(value):
    """Whether a state is of what files can hold: `Mover.state`."""
    if isinstance(value, dict):
        return all(isinstance(key, str) and only_plain(entry) for key, entry in value.items())
    return value is None or isinstance(value, np.ndarray | float | int | str)


@pytest.mark.fast("{}-6")
@pytest.mark.parametrize(
    ("settings", "stop"),
    covering(({}, {"method": "diis"}, {"method": "damped", "smass": 0.4}, {"method": "damped"}), (6, 1, 2), together=1),
)
def test_a_relaxation_goes_on_to_the_last_bit(settings, stop):
    start = crystal(rattle=0.3, strain=0.1)
    settings = {"isif": 3, "most_points": 12, **settings}
    whole = [point.arrangement for point, _ in drive(mover(start, **settings), Pairwise())]
    first, second = mover(start, **settings), mover(start, **settings)
    drive(first, Pairwise(), stop)
    assert only_plain(first.state())
    second.restore(first.state())
    rest = [point.arrangement for point, _ in drive(second, Pairwise())]
    assert len(rest) == len(whole) - stop
    for one, other in zip(rest, whole[stop:], strict=True):
        assert np.array_equal(one.scaled_ac, other.scaled_ac) and np.array_equal(one.lattice_cv, other.lattice_cv)


@pytest.mark.parametrize(("force", "words"), [(1e3, "at rest after 1 point: "), (1e-9, "not at rest after 1 point")])
def test_one_point_is_not_called_points(force, words):
    relax = mover(crystal(rattle=0.1), force_tolerance=force, most_points=1)
    drive(relax, Pairwise())
    assert relax.status.startswith(words) and "1 points" not in relax.status


class Stretched:
    """E = B V₀/2 (V/V₀ - 1)² at constant cutoff; the stress is that of fixed plane waves."""

    V0, BULK, PULAY = 64.0, 1.0, -0.05

    def __call__(self, at):
        strain = at.volume / self.V0 - 1
        # at fixed waves the energy is E + p_Pulay (V - V_start): its slope has the false pressure
        pressure = -self.BULK * strain + self.PULAY
        energy = self.BULK * self.V0 * strain**2 / 2 - self.PULAY * at.volume
        return SurfacePoint(at, energy, np.zeros((1, 3)), -pressure * np.eye(3), pulay=self.PULAY)


@pytest.mark.parametrize(("pulay", "pressure"), [(False, 0.0), (True, 0.0), (True, 0.02)])
def test_a_cell_ends_where_energies_at_constant_cutoff_are_lowest(pulay, pressure):
    """With PSTRESS too, which is counted once."""
    start = Arrangement(4.05 * np.eye(3), np.zeros((1, 3)))
    moves = mover(start, isif=3, pulay=pulay, pressure=pressure)
    assert moves.wants_pulay == pulay
    drive(moves, Stretched())
    assert moves.finished and not moves.wants_pulay and moves.pulay == (Stretched.PULAY if pulay else None)
    expected = Stretched.V0 * (1 - pressure / Stretched.BULK + (0 if pulay else Stretched.PULAY))
    assert moves.arrangement.volume == pytest.approx(expected, rel=1e-3)
    again = mover(start, isif=3, pulay=pulay, pressure=pressure)
    again.restore(moves.state())
    assert again.pulay == moves.pulay


@pytest.mark.parametrize("isif", [2, 4, 5])
def test_a_cell_that_keeps_its_volume_wants_no_pulay_stress(isif):
    assert not mover(Arrangement(4.05 * np.eye(3), np.zeros((2, 3)) + [[0], [0.5]]), isif=isif, pulay=True).wants_pulay
