"""The picture drawn by another process: the same file, the same errors, and nothing left behind."""

import sys

import pytest

from eigenwerk.errors import InputError
from eigenwerk.io.vasp.output.record import StepRecord
from eigenwerk.view.convergence_plot import draw_convergence
from eigenwerk.view.plot_process import PlotProcess

STEPS = [
    StepRecord(i, "DAV", -1.0, -1.0, -1.0, 0.1**i, 0.2**i, 10, 0.1, density_residual=None if i < 3 else 0.3**i)
    for i in range(1, 8)
]


@pytest.mark.slow
def test_same_picture_as_drawn_here(tmp_path):
    draw_convergence(tmp_path / "here.png", STEPS, "Si2: 8 µ", 1e-6)
    plotter = PlotProcess()
    plotter.draw(tmp_path / "there.png", STEPS, "Si2: 8 µ", 1e-6)
    plotter.close()
    assert (tmp_path / "here.png").read_bytes() == (tmp_path / "there.png").read_bytes()
    assert plotter._process.returncode == 0


@pytest.mark.slow
def test_folder_that_is_gone_is_the_same_error(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        PlotProcess().draw(tmp_path / "gone" / "a.png", STEPS, "", 1e-6)


@pytest.mark.parametrize("script", ["raise SystemExit(7)", "import sys; sys.stdin.read(); print('not JSON')"])
def test_process_that_dies_is_an_error_in_words(tmp_path, script):
    with pytest.raises(ImportError, match="ended with code"):
        PlotProcess([sys.executable, "-c", script]).draw(tmp_path / "a.png", STEPS, "", 1e-6)


@pytest.mark.slow
def test_without_matplotlib_the_reason_is_told(tmp_path):
    script = "import sys; sys.modules['matplotlib'] = None; from eigenwerk.view.plot_process import main; main()"
    with pytest.raises(ImportError, match="matplotlib"):
        PlotProcess([sys.executable, "-c", script]).draw(tmp_path / "a.png", STEPS, "", 1e-6)


@pytest.mark.slow
def test_process_ends_with_its_parent_and_when_nothing_is_to_be_drawn():
    orphan = PlotProcess()
    orphan._process.stdin.close()
    assert orphan._process.wait(60) == 0
    orphan._process.stdout.close()
    plotter = PlotProcess()
    plotter.close()
    assert plotter._process.returncode is not None
