"""Pictures of atoms that move: the quantities that a relaxation or dynamics has."""

import pytest

from eigenwerk.io.vasp.vasprun_reader import read_vasprun
from eigenwerk.view.ionic_plot import ionic_figure
from eigenwerk.view.report.tables import ionic_table


@pytest.fixture
def steps_of(shared_dir):
    def read(case):
        (path,) = (shared_dir / "reference" / "vasp_outputs" / case).glob("vasprun.xml*")
        return read_vasprun(path).steps

    return read


def panels(figure):
    return [axes.get_ylabel().split("\n")[0].split(" (")[0] for axes in figure.axes]


def test_relaxation_has_forces_pressure_and_volume(steps_of):
    figure = ionic_figure(steps_of("mgo_pbesol_relax"), "MgO", 0.02)
    assert panels(figure) == ["free energy", "largest force", "pressure", "volume"]
    assert figure.axes[0].lines[0].get_ydata().min() == 0 and figure.axes[-1].get_xlabel() == "ionic step"


def test_dynamics_have_the_conserved_energy_and_the_temperature(steps_of):
    steps = steps_of("si64_md")
    figure = ionic_figure(steps, "Si64", freedom=3 * 64 - 3)
    assert panels(figure) == ["free energy", "conserved energy", "temperature", "pressure"]
    # OUTCAR of VASP says 1999.98 K for the first step, TEBEG = 2000
    assert figure.axes[2].lines[0].get_ydata()[0] == pytest.approx(2000, abs=30)


def test_table_has_a_row_for_each_step(steps_of):
    assert ionic_table(steps_of("si64_md")).count("<tr>") == 11
