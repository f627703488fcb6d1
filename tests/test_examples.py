"""The examples run as they stand, and give what their README says."""

import pytest

from eigenwerk.dft.runs.run import run_folder
from when_used import when_used

Vasprun = when_used("pymatgen.io.vasp.outputs", "Vasprun")


@pytest.fixture(scope="session")
def run_example(repository, tmp_path_factory):
    """Runs an example into a temporary folder, once."""
    results = {}

    def run(name):
        if name not in results:
            results[name] = run_folder(repository / "examples" / name, output=tmp_path_factory.mktemp(name))
        assert results[name].converged and not results[name].unwritten
        return results[name]

    return run


@pytest.mark.slow
@pytest.mark.ci
def test_silicon_has_its_gap_and_no_forces(run_example):
    result = run_example("01_silicon_pbe")
    assert result.free_energy == pytest.approx(-10.605, abs=1e-3)
    assert not result.gap.metal and not result.gap.is_direct
    assert 0.5 < result.gap.gap < 0.8 and result.gap.top.point_c == (0, 0, 0)
    assert result.largest_force < 1e-4
    read = Vasprun(result.files["vasprun.xml"], parse_potcar_file=False)
    assert read.converged and read.final_energy == pytest.approx(result.free_energy, abs=1e-7)
    assert read.run_type == "PBE"


@pytest.mark.slow
def test_aluminium_is_a_metal_with_a_small_entropy_term(run_example):
    result = run_example("02_aluminium_metal")
    assert result.gap.metal and len(result.weight_k) == 29
    assert 0 < abs(result.entropy_term) < 5e-3
    assert result.energy_zero == pytest.approx(result.free_energy - result.entropy_term / 3, abs=1e-9)


@pytest.mark.slow
def test_silicon_has_its_conduction_bands_bottom_near_x(run_example):
    bands = run_example("07_silicon_bands").bands
    assert 0.5 < bands.gap.gap < 0.6 and bands.gap.direct_gap == pytest.approx(2.55, abs=0.05)
    assert bands.place(bands.gap.top).startswith("G") and "of the way from G to X" in bands.place(bands.gap.bottom)
    masses = {(mass.carrier, mass.towards): mass.mass for mass in bands.masses}
    assert masses["electron", "G-X"] == pytest.approx(0.95, abs=0.05)  # 0.92 in experiment


@pytest.mark.slow
def test_iron_is_a_ferromagnet(run_example):
    result = run_example("03_iron_magnet")
    assert result.gap.metal and result.moment == pytest.approx(2.25, abs=0.15)
    assert result.moment_a[0] == pytest.approx(result.moment, abs=0.2)


@pytest.mark.slow
def test_water_is_a_molecule_near_its_minimum(run_example):
    result = run_example("04_water_molecule")
    assert not result.gap.metal and result.gap.gap > 5
    assert result.largest_force < 1.5
    symmetric = result.forces_av[1] * [1, -1, 1]
    assert symmetric == pytest.approx(result.forces_av[2], abs=1e-4)
