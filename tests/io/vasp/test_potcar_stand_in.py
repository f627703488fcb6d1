"""POTCAR stand-ins: pymatgen, ASE and eigenwerk read from them what our data sets say."""

import io

import pytest

from eigenwerk.io.paw.paw_library import choose_dataset, recommended_cutoff
from eigenwerk.io.paw.paw_xml import read_paw_header
from eigenwerk.io.vasp.input.potcar import read_potcar_species
from eigenwerk.io.vasp.potcar_stand_in import stand_in
from when_used import when_used

read_potcar_numbers_of_electrons = when_used("ase.calculators.vasp.create_input", "read_potcar_numbers_of_electrons")
PotcarSingle = when_used("pymatgen.io.vasp.inputs", "PotcarSingle")


def header(symbol, functional="PBE"):
    return read_paw_header(choose_dataset(symbol, functional))


@pytest.mark.parametrize(("symbol", "functional"), [("Fe", "PBE"), ("O", "PBE"), ("Si", "LDA"), ("H", "PBE")])
def test_pymatgen_and_ase_read_what_the_data_set_says(symbol, functional):
    data = header(symbol, functional)
    advice = recommended_cutoff(data)
    text = stand_in(data, advice, "gpaw-data 1", "_pv")
    with pytest.warns(UserWarning, match="not known to pymatgen"):  # by design: no potential of VASP
        read = PotcarSingle(text)
    assert (read.element, read.symbol, read.potential_type) == (symbol, f"{symbol}_pv", "PAW")
    assert read.functional_class == ("LDA" if functional == "LDA" else "GGA")
    assert read.nelectrons == data.valence and read.enmax == advice.recommended_eV
    assert sum(occupation for _, _, occupation in read.electron_configuration) == pytest.approx(data.valence)
    assert read_potcar_numbers_of_electrons(io.StringIO(text)) == [(symbol, data.valence)]


def test_eigenwerk_reads_the_order_of_the_species(tmp_path):
    texts = [stand_in(header(symbol), None, "gpaw-data 1", suffix) for symbol, suffix in [("Fe", "_pv"), ("O", "")]]
    (tmp_path / "POTCAR").write_text("".join(texts))
    assert read_potcar_species(tmp_path / "POTCAR") == ("Fe", "O")
