"""trajectory.h5 holds the way of the atoms in the layout of H5MD."""

import h5py
import numpy as np
import pytest

from eigenwerk.io.run_stamp import RunStamp, stamp_of
from eigenwerk.io.vasp.output.h5md import has_trajectory, write_trajectory

VELOCITY = np.array([[0.001, -0.002, 0.0035], [0.0, 0.01, 0.0], [-0.004, 0.0, 0.002]])
DYNAMICS = {"temperature": 291.84, "kinetic": 0.5, "conserved": -12.0, "velocities_av": VELOCITY}


@pytest.fixture
def written(tmp_path, make_record):
    def write(**changes):
        record = make_record(ionic=4, stamp=RunStamp("0123456789abcdef", 3), **changes)
        assert has_trajectory(record)
        write_trajectory(tmp_path / "trajectory.h5", record)
        return tmp_path / "trajectory.h5", record

    return write


def test_dynamics_in_the_layout_of_the_specification(written):
    path, record = written(parameters={"NSW": 4, "IBRION": 0, "POTIM": 2.5}, **DYNAMICS)
    assert stamp_of(path) == record.stamp
    with h5py.File(path) as file:
        assert list(file["h5md"].attrs["version"]) == [1, 1] and file["h5md/creator"].attrs["name"] == "eigenwerk"
        atoms = file["particles/atoms"]
        assert list(atoms["species"]) == [12, 12, 8] and list(atoms["mass"]) == [24.305, 24.305, 15.999]
        assert atoms["box"].attrs["dimension"] == 3 and list(atoms["box"].attrs["boundary"]) == [b"periodic"] * 3
        for name in ("position", "velocity", "force", "box/edges"):
            assert list(atoms[name]["step"]) == [1, 2, 3, 4] and list(atoms[name]["time"]) == [0.0, 2.5, 5.0, 7.5]
            assert atoms[name]["time"].attrs["unit"] == "fs"
        places = [ionic.scaled_ac @ ionic.lattice_cv for ionic in record.ionic_steps]
        np.testing.assert_array_equal(atoms["position/value"], places)  # as they are: not folded into the cell
        np.testing.assert_array_equal(atoms["box/edges/value"][0], record.ionic_steps[0].lattice_cv)
        assert atoms["velocity/value"].attrs["unit"] == "Angstrom fs-1"
        forces = np.array(atoms["force/value"]) / 96.48533212
        np.testing.assert_allclose(forces, [ionic.forces_av for ionic in record.ionic_steps], rtol=1e-12)
        assert list(file["observables/temperature/value"]) == [291.84] * 4
        assert file["observables/stress/value"].shape == (4, 3, 3) and "magnetic_moment" not in file["observables"]


def test_steps_on_their_way_are_left_out_and_relaxations_have_no_time(written, make_record, tmp_path):
    path, _ = written(forces_av=np.zeros((3, 3)), parameters={"NSW": 9, "IBRION": 2, "POTIM": 0.5})
    with h5py.File(path) as file:
        assert list(file["particles/atoms/position/time"]) == [1, 2, 3, 4] and "velocity" not in file["particles/atoms"]
        assert "unit" not in file["particles/atoms/position/time"].attrs
    assert not has_trajectory(make_record(ionic=1))


def test_mdanalysis_reads_dynamics(written):
    analysis = pytest.importorskip("MDAnalysis", reason="MDAnalysis is not installed")
    path, record = written(parameters={"NSW": 4, "IBRION": 0, "POTIM": 2.5}, **DYNAMICS)
    universe = analysis.Universe.empty(3, trajectory=False)
    universe.load_new(str(path), format="H5MD")
    assert len(universe.trajectory) == 4
    last = universe.trajectory[3]
    assert last.time == pytest.approx(0.0075)  # ps
    places = record.last.scaled_ac @ record.last.lattice_cv
    np.testing.assert_allclose(last.positions, places, atol=1e-5)
    np.testing.assert_allclose(last.velocities, 1000 * VELOCITY, atol=1e-4)  # Å/ps
    np.testing.assert_allclose(last.forces, 96.48533212 * record.last.forces_av, rtol=1e-5)
    assert last.data["temperature"] == 291.84
