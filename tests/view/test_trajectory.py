"""Numbers of a trajectory against crystals, gases and motions whose answers are known; against sums without tricks."""

from types import SimpleNamespace

import h5py
import numpy as np
import pytest

from eigenwerk.errors import InputError
from eigenwerk.io.vasp.output.h5md import write_trajectory
from eigenwerk.io.vasp.output.record import IonicStep, StepRecord
from eigenwerk.view.trajectory import (
    ReadTrajectory,
    autocorrelation,
    heights,
    pair_distributions,
    read_trajectory,
    square_displacements,
    velocity_autocorrelations,
)
from eigenwerk.view.trajectory_plot import trajectory_figure


def trajectory(position_tav, lattice_cv, symbols, velocity_tav=None, mass_a=None):
    steps = len(position_tav)
    return ReadTrajectory(
        2.0 * np.arange(steps), np.broadcast_to(lattice_cv, (steps, 3, 3)), position_tav, velocity_tav, symbols,
        np.ones(len(symbols)) if mass_a is None else mass_a,
    )  # fmt: skip


def test_neighbours_of_rock_salt_are_counted_in_a_primitive_cell():
    """6 Cl at a/2 about each Na, 12 Na at a/√2; the cell is smaller than these distances."""
    edge = 5.64
    lattice_cv = edge / 2 * np.array([[0, 1, 1], [1, 0, 1], [1, 1, 0]])
    found = trajectory(np.array([[[0, 0, 0], [edge / 2, 0, 0]]] * 2), lattice_cv, ("Na", "Cl"))
    distance_x, pairs, half = pair_distributions(found)
    assert half == pytest.approx(heights(lattice_cv).min() / 2) and set(pairs) == {
        ("Na", "Na"), ("Na", "Cl"), ("Cl", "Cl"),
    }  # fmt: skip
    edges = np.append(distance_x - 0.025, distance_x[-1] + 0.025)
    density = 1 / abs(np.linalg.det(lattice_cv)) * 4 / 3 * np.pi * np.diff(edges**3)
    for pair, distance, count in ((("Na", "Cl"), edge / 2, 6), (("Na", "Na"), edge / np.sqrt(2), 12)):
        near = np.abs(distance_x - distance) < 0.2
        assert (pairs[pair] * density)[near].sum() == pytest.approx(count)


def test_a_gas_is_spread_evenly():
    random = np.random.default_rng(3)
    lattice_cv = np.array([[12.0, 0, 0], [3.0, 11.0, 0], [0, -2.0, 13.0]])
    found = trajectory(random.uniform(-2, 3, (60, 40, 3)) @ lattice_cv, lattice_cv, ("Ar",) * 40)
    distance_x, pairs, _ = pair_distributions(found)
    far = distance_x > 2
    assert pairs["Ar", "Ar"][far].mean() == pytest.approx(39 / 40, abs=0.02)


def test_averages_over_all_origins_are_those_of_plain_sums():
    random = np.random.default_rng(5)
    walk_tav = random.normal(size=(17, 4, 3)).cumsum(0)
    mass_a = np.array([1.0, 2.0, 3.0, 4.0])
    found = trajectory(walk_tav, 50 * np.eye(3), ("H", "H", "O", "O"), random.normal(size=(17, 4, 3)), mass_a)
    centre_tv = np.einsum("a,tav->tv", mass_a, walk_tav) / 10
    free_tav = walk_tav - centre_tv[:, None]
    for lag in (0, 1, 5, 16):
        moved = ((free_tav[lag:] - free_tav[: 17 - lag]) ** 2).sum(2).mean(0)
        msd = square_displacements(found)
        np.testing.assert_allclose([msd["H"][lag], msd["O"][lag]], moved.reshape(2, 2).mean(1), atol=1e-10)
        products = (found.velocity_tav[lag:] * found.velocity_tav[: 17 - lag]).sum(2).mean(0)
        np.testing.assert_allclose(autocorrelation(found.velocity_tav)[lag], products, atol=1e-12)


def test_atoms_that_fly_and_atoms_that_swing():
    time_t = 2.0 * np.arange(400)
    velocity = np.array([[0.01, 0, 0], [-0.01, 0, 0]])
    flying = trajectory(time_t[:, None, None] * velocity, 20 * np.eye(3), ("Ne", "Ne"), np.array([velocity] * 400))
    np.testing.assert_allclose(square_displacements(flying)["Ne"], (0.01 * time_t) ** 2, atol=1e-9)
    np.testing.assert_allclose(velocity_autocorrelations(flying)["Ne"], 1.0, atol=1e-9)
    swing_tav = np.sin(2 * np.pi * time_t / 100)[:, None, None] * velocity
    swinging = trajectory(swing_tav, 20 * np.eye(3), ("Ne", "Ne"), swing_tav)
    np.testing.assert_allclose(
        velocity_autocorrelations(swinging)["Ne"][:200:50], np.cos(2 * np.pi * time_t[:200:50] / 100), atol=1e-6
    )


def made_up(ionic, **parameters):
    """As much of a record as the writer takes."""
    return SimpleNamespace(
        version="0.1", stamp=None, symbols=("Mg", "Mg", "O"), ionic_steps=(ionic,) * 5, parameters=parameters,
        species=(SimpleNamespace(count=2, mass=24.3), SimpleNamespace(count=1, mass=16.0)),
    )  # fmt: skip


@pytest.mark.slow
def test_the_file_of_a_run_is_read_and_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    scf = StepRecord(1, "DAV", -8.0, -8.0, -8.0, 1e-3, 1e-3, 12, 1e-3)
    place_ac = np.array([[0, 0, 0], [0.5, 0.5, 0], [0.5, 0, 0]])
    ionic = IonicStep(
        4 * np.eye(3), place_ac, (scf,), -8.0, -8.0, -8.0, True, {}, forces_av=np.zeros((3, 3)), kinetic=0.5,
        velocities_av=np.array([[0.001, -0.002, 0.0035], [0.0, 0.01, 0.0], [-0.004, 0.0, 0.002]]),
    )  # fmt: skip
    path = tmp_path / "trajectory.h5"
    write_trajectory(path, made_up(ionic, IBRION=0, POTIM=2.0))
    found = read_trajectory(path)
    assert found.symbols == ("Mg", "Mg", "O") and list(found.time_t) == [0, 2, 4, 6, 8]
    assert len(trajectory_figure(found, "title").axes) == 3
    write_trajectory(path, made_up(ionic, IBRION=2))
    with pytest.raises(InputError, match="no dynamics"):
        read_trajectory(path)
    path.write_bytes(path.read_bytes()[:700])
    with pytest.raises(InputError, match="damaged"):
        read_trajectory(path)


def written_trajectory(path, **changes):
    """A file of two atoms and three steps with some values changed, by their names."""
    values = {
        "box/edges/value": np.stack([5.0 * np.eye(3)] * 3), "position/value": np.ones((3, 2, 3)),
        "velocity/value": np.zeros((3, 2, 3)), "position/time": 2.0 * np.arange(3), "species": np.array([14, 8]),
        "mass": np.array([28.0, 16.0]),
    }  # fmt: skip
    with h5py.File(path, "w") as file:
        for name, value in (values | changes).items():
            if value is not None:
                file[f"particles/atoms/{name}"] = value
        file["particles/atoms/position/time"].attrs["unit"] = "fs"
    return path


NONSENSE = {
    "no cell": ({"box/edges/value": np.zeros((3, 3, 3))}, r"thinner than 0\.5 Å"),
    "cells of 0.1 Å": ({"box/edges/value": np.stack([0.1 * np.eye(3)] * 3)}, r"thinner than 0\.5 Å"),
    "a thin cell": ({"box/edges/value": np.stack([np.diag([0.1, 99.0, 99.0])] * 3)}, r"thinner than 0\.5 Å"),
    "crowded": ({"box/edges/value": np.stack([0.8 * np.eye(3)] * 3)}, r"less than 0\.5 Å³ for an atom"),
    "nan": ({"position/value": np.full((3, 2, 3), np.nan)}, "position holds something that is no number"),
    "far": ({"position/value": np.full((3, 2, 3), 1e9)}, "is 100000 Å away"),
    "fast": ({"velocity/value": np.full((3, 2, 3), 1e5)}, "as fast as 1000 Å/fs"),
    "another shape": ({"position/value": np.ones((3, 3, 3))}, r"has the shape \(3, 3, 3\).* need \(3, 2, 3\)"),
    "no steps": ({"position/time": np.zeros(0)}, "no steps or no atoms"),
    "no order": ({"position/time": np.array([0.0, 2.0, 1.0])}, "its times do not rise"),
    "no element": ({"species": np.array([14, 0])}, "that of no element"),
    "element 200": ({"species": np.array([14, 200])}, "that of no element"),
    "no mass": ({"mass": np.array([1.0, 0.0])}, "a mass is not between"),
    "words": ({"mass": np.array([b"a", b"b"])}, "holds no numbers"),
    "nothing": ({"mass": None}, "particles/atoms/mass is missing"),
}


@pytest.mark.parametrize("name", NONSENSE)
def test_nonsense_is_not_drawn(tmp_path, name):
    changes, words = NONSENSE[name]
    with pytest.raises(InputError, match=words):
        read_trajectory(written_trajectory(tmp_path / "trajectory.h5", **changes))


def test_positions_outside_the_file_are_not_drawn(tmp_path):
    written_trajectory(tmp_path / "trajectory.h5", **{"position/value": None})
    with h5py.File(tmp_path / "trajectory.h5", "r+") as file:
        file["particles/atoms/position"].create_dataset("value", (3, 2, 3), "f8", external=[("/etc/passwd", 0, 144)])
    with pytest.raises(InputError, match="which are not in the file"):
        read_trajectory(tmp_path / "trajectory.h5")
    assert len(read_trajectory(written_trajectory(tmp_path / "whole.h5")).time_t) == 3


@pytest.mark.slow
def test_many_atoms_cost_fewer_frames_and_too_many_are_refused(monkeypatch):
    from eigenwerk.view import trajectory as module

    random = np.random.default_rng(3)
    found = trajectory(random.uniform(0, 9, (40, 30, 3)), 9.0 * np.eye(3), ("Ar",) * 30)
    whole = pair_distributions(found)[1]["Ar", "Ar"]
    monkeypatch.setattr(module, "AT_ONCE", 100)
    np.testing.assert_allclose(pair_distributions(found)[1]["Ar", "Ar"], whole)
    monkeypatch.setattr(module, "MOST_DISTANCES", 10**6)
    assert np.isfinite(pair_distributions(found)[1]["Ar", "Ar"]).all()
    monkeypatch.setattr(module, "MOST_DISTANCES", 10**3)
    with pytest.raises(InputError, match="30 atoms in such a cell have"):
        pair_distributions(found)
