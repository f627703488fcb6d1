"""The picture of bands: a whole PNG file, names below, jumps without lines."""

import numpy as np
import pytest

from eigenwerk.view.bands_plot import bands_figure, draw_bands, label_places
from eigenwerk.view.dos_plot import DosCurves
from eigenwerk.view.plot_process import PlotProcess


def document(spins=1, metal=False, lines=True):
    eig_skn = np.linspace(-3, 3, 4) + np.sin(np.arange(8))[None, :, None] * np.ones((spins, 1, 1))
    edge = None if metal else {"energy": -1.0}
    return {
        "eigenvalues_eV": eig_skn.tolist(), "zero_eV": 0.5, "distance_per_A": [0, 1, 2, 3, 3, 4, 5, 6],
        "labels": ["G", "", "", "X", "U", "", "", "\\Gamma"], "lines": [0, 0, 0, 0, 1, 1, 1, 1] if lines else None,
        "gap_eV": {"metal": metal, "gap": 0.0 if metal else 1.2, "top": edge,
                   "kind": "from spin to spin at one k-point"},
    }  # fmt: skip


@pytest.mark.fast("wanted1", "wanted2")
@pytest.mark.parametrize("wanted", [{}, {"spins": 2}, {"metal": True}, {"lines": False}])
def test_every_document_gives_a_picture(tmp_path, wanted):
    draw_bands(tmp_path / "bands.png", document(**wanted), "Si2")
    data = (tmp_path / "bands.png").read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n" and data[-8:-4] == b"IEND"


def test_each_line_of_the_path_has_curves_of_its_own():
    axes = bands_figure(document(spins=2), "Si2").axes[0]
    curves = [line for line in axes.lines if len(line.get_xdata()) == 4]
    assert len(curves) == 2 * 2 * 4
    assert axes.get_title(loc="left") == "Si2: gap 1.200 eV, from spin to spin at one k-point"
    assert [text.get_text() for text in axes.get_xticklabels()] == ["Γ", "X|U", "Γ"]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["spin up", "spin down"]


def test_names_that_meet_stand_together():
    assert label_places(np.array([0.0, 1.0, 1.0, 2.0]), ["G", "X_0", "X_0", ""]) == [(0.0, "Γ"), (1.0, "X₀")]


@pytest.mark.slow
def test_process_draws_it_too(tmp_path):
    plotter = PlotProcess()
    plotter.draw(None, (), "", 1.0, bands_path=tmp_path / "there.png", bands=document(), bands_title="Si2")
    plotter.close()
    draw_bands(tmp_path / "here.png", document(), "Si2")
    assert (tmp_path / "here.png").read_bytes() == (tmp_path / "there.png").read_bytes()


def test_densities_of_states_stand_beside_the_bands_on_the_same_energies():
    dos = DosCurves(np.linspace(-5, 5, 21), np.ones((2, 21)), {"Si s": 0.5 * np.ones((2, 21))})
    left, right = bands_figure(document(spins=2), "Si2", dos, (-3.0, 2.0)).axes
    assert left.get_ylim() == right.get_ylim() == (-3.0, 2.0)
    (total,) = (line for line in right.lines if line.get_label() == "total")
    assert total.get_ydata()[0] == -5.5  # counted from the zero of the bands
