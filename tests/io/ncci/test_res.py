"""MFDn's result files of both versions."""

import numpy as np
import pytest

from eigenwerk.errors import InputError
from eigenwerk.io.ncci.res import read_res


@pytest.fixture
def results_dir(shared_dir):
    return shared_dir / "reference" / "ncci" / "mfdn-results"


def test_version_15_is_read_with_settings_tables_and_occupations(results_dir):
    found = read_res(next(results_dir.glob("runmfdn13-*Nmax02-Mj1.0*")))
    assert found.number("Many-body matrix", "dimension") == 711
    assert found.number("Interaction", "hbomeg") == 15.0
    assert found.energies[:2].tolist() == [-25.578, -24.148]
    assert found.table("M1 moments").column("mu")[0] == 0.8545
    assert found.table("Relative radii").column("r_pn")[0] == 1.5773
    assert found.table("Oscillator quanta").rest()[0].tolist() == [0.8818, 0.1182]
    assert found.table("Other 2-body observables").column("VC")[0] == 1.75138
    assert found.table("Other 2-body observables").column("T2")[2] == 1.99959
    assert found.occupations["n", 0, 1, 3][0] == 0.7730
    total = sum(values[0] for (species, *_), values in found.occupations.items() if species == "p")
    assert total == pytest.approx(3.0, abs=2e-3)


def test_version_14_is_read(results_dir):
    found = read_res(next(results_dir.glob("runmac0428-*")))
    assert found.settings["Basis"] == {"Nprotons": "4", "Nneutrons": "3", "Nmin": "0", "Nmax": "4"}
    assert found.energies[:3].tolist() == [-28.095, -26.558, -23.219]
    assert found.table("Energies").column("J").tolist()[:3] == [1.5, 0.5, 3.5]
    np.testing.assert_allclose(found.table("Oscillator quanta").rest()[0], [0.79218, 0.12947, 0.07835])
    moments = found.table("M1 moments")
    np.testing.assert_allclose(moments.values[:, 5:9].sum(axis=1), moments.column("sum(=J)"), atol=2e-4)
    with pytest.raises(InputError, match="no column Eabs; it has Seq J n T mu"):
        moments.column("Eabs")


def test_all_files_of_levels_are_read_whole(results_dir):
    for path in results_dir.iterdir():
        if "bigstick" in path.name or "transitions" in path.name:
            continue
        found = read_res(path)
        assert len(found.energies) == len(found.table("Oscillator quanta").values) > 0, path.name
        assert (np.diff(found.energies) >= 0).all(), path.name


@pytest.mark.parametrize("text", ["", "[PARAMETERS]\n[Basis]\nNprotons = 3\n", "nothing\n"])
def test_files_without_energies_are_refused(tmp_path, text):
    (tmp_path / "x.res").write_text(text)
    with pytest.raises(InputError, match=r"x\.res: no table of energies"):
        read_res(tmp_path / "x.res")
