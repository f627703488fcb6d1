"""The picture of the way to self-consistency: a whole PNG file for every kind of run."""

import struct

import pytest

from eigenwerk.errors import InputError
from eigenwerk.io.vasp.output.record import StepRecord
from eigenwerk.view.convergence_plot import draw_convergence


def make_steps(changes, residual=0.1):
    return [
        StepRecord(i, "DAV", -1.0, -1.0, -1.0, change, 2 * change, 10, 0.1, density_residual=residual)
        for i, change in enumerate(changes, start=1)
    ]


RUNS = {
    "usual": make_steps([-10.0, 1e-1, -1e-3, 1e-5, -1e-9]),
    "one step": make_steps([-10.0]),
    "changes of exactly zero": make_steps([-10.0, 0.0, 0.0]),
    "frozen density": make_steps([-10.0, 1e-1], residual=None),
    "long": make_steps([0.9**i for i in range(300)]),
}


@pytest.mark.fast("usual", "one step", "frozen density")
@pytest.mark.parametrize("run", RUNS)
def test_every_run_gives_a_picture(tmp_path, run):
    path = tmp_path / "convergence.png"
    draw_convergence(path, RUNS[run], "Si2: converged", 1e-6)
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n" and data[-8:-4] == b"IEND"
    width, height = struct.unpack(">II", data[16:24])
    assert width == 840 and 0 < height - (432 if run == "frozen density" else 672) < 60  # a title and a legend
    assert [entry.name for entry in tmp_path.iterdir()] == ["convergence.png"]


@pytest.mark.slow
def test_pictures_of_different_runs_differ(tmp_path):
    for name in ("usual", "long"):
        draw_convergence(tmp_path / name, RUNS[name], "same", 1e-6)
    assert (tmp_path / "usual").read_bytes() != (tmp_path / "long").read_bytes()


@pytest.mark.slow
def test_folder_that_is_not_there_is_an_input_error(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        draw_convergence(tmp_path / "none" / "x.png", RUNS["usual"], "", 1e-6)
