"""Pictures of series show what the documents hold."""

import pytest

from eigenwerk.perf.pictures import save_figure
from eigenwerk.view.series_plot import converge_figure, eos_figure, eos_title

FIT = {"energy_eV": -10.8, "volume_A3": 40.9, "bulk_modulus_GPa": 88.0, "bulk_modulus_derivative": 4.3}


def eos_document(fit=FIT, **changes):
    point = {"converged": True, "pressure_GPa": 1.0, "pulay_pressure_GPa": -0.5, **changes}
    volumes = [(38.9, -10.75), (40.9, -10.8), (42.9, -10.76)]
    points = [{**point, "volume_A3": volume, "free_energy_eV": energy} for volume, energy in volumes]
    return {"atoms": 2, "birch_murnaghan": fit, "points": points}


def curves(axes):
    return {line.get_label(): line.get_xydata() for line in axes.get_lines()}


def test_energies_and_pressures_stand_on_their_curves_per_atom():
    above, below = eos_figure(eos_document(), "Si2").axes
    shown = curves(above)
    assert shown["computed"].ravel() == pytest.approx([19.45, 25, 20.45, 0, 21.45, 20])
    assert shown["Birch–Murnaghan"][:, 1].min() == pytest.approx(0, abs=0.01)
    assert curves(below)["stress − Pulay estimate"][:, 1] == pytest.approx([1.5, 1.5, 1.5])


@pytest.mark.fast("document1")
@pytest.mark.parametrize("document", [eos_document(None), eos_document(None, converged=False), eos_document(
    pressure_GPa=None)])  # fmt: skip
def test_what_is_not_known_is_not_drawn(document, tmp_path):
    figure = eos_figure(document, "Si2")
    assert ("Birch–Murnaghan" in curves(figure.axes[0])) == (document["birch_murnaghan"] is not None)
    assert "stress − Pulay estimate" not in curves(figure.axes[1]) or document["points"][0]["pressure_GPa"]
    save_figure(figure, tmp_path / "eos.png")


def test_title_of_a_curve_says_where_it_is_and_whether_it_is_extrapolated():
    document = eos_document() | {"bracketed": False}
    assert eos_title(document) == "V0 = 20.450 Å³ per atom, B0 = 88.0 GPa, B0' = 4.30 (extrapolated)"
    assert eos_title(eos_document(None)) == "no equation of state"


@pytest.mark.slow
def test_each_series_has_energy_and_pressure_and_svg_is_by_name(tmp_path):
    row = {"converged": True, "pressure_change_GPa": 0.1, "difference_to_best_eV_per_atom": -0.004,
           "estimated_error_eV_per_atom": 0.005, "words": "ENCUT = 300"}  # fmt: skip
    best = row | {"words": "ENCUT = 400", "difference_to_best_eV_per_atom": 0.0, "pressure_change_GPa": None}
    lost = row | {"converged": False}
    document = {"series": [{"name": "cutoff", "settings": [lost, row, best]}, {"name": "k-points", "settings": [lost]}]}
    figure = converge_figure(document, "Si2")
    assert len(figure.axes) == 4
    shown = curves(figure.axes[0])
    assert shown["estimated error"][:, 1] == pytest.approx([5, 5])
    assert shown["difference to the best"][:, 1] == pytest.approx([4])
    save_figure(figure, tmp_path / "picture.svg")
    assert "<svg" in (tmp_path / "picture.svg").read_text()
