"""The POTCAR reader takes the order of species and nothing else (made-up files: no licensed text)."""

import pytest

from eigenwerk.errors import InputError
from eigenwerk.io.vasp.input.potcar import read_potcar_species


def written(tmp_path, text: str):
    path = tmp_path / "POTCAR"
    path.write_text(text)
    return path


def test_titles_give_the_order_with_repetitions_and_without_suffixes(tmp_path):
    text = """ PAW_PBE Si_sv_GW 01Jan2000
   VRHFIN =Si: made up
   TITEL  = PAW_PBE Si_sv_GW 01Jan2000
   ENMAX  = 1.0
   TITEL  = PAW O 01Jan2000
   TITEL  = PAW_PBE H1.25 01Jan2000
   TITEL  = PAW_PBE Si 01Jan2000
"""
    assert read_potcar_species(written(tmp_path, text)) == ("Si", "O", "H", "Si")


def test_valence_lines_serve_where_titles_are_missing(tmp_path):
    assert read_potcar_species(written(tmp_path, "   VRHFIN =Mg: s2\n   VRHFIN =O: s2p4\n")) == ("Mg", "O")


def test_bytes_that_are_no_text_do_no_harm(tmp_path):
    path = tmp_path / "POTCAR"
    path.write_bytes(b"\xff\xfe\x00\n TITEL = PAW_PBE Fe_pv 01Jan2000\n")
    assert read_potcar_species(path) == ("Fe",)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", "no line TITEL or VRHFIN"), (" TITEL = PAW_PBE Xx x", "Xx is not a chemical element"),
     (" TITEL =", "an empty title is not")],
)  # fmt: skip
def test_files_without_species_are_errors(tmp_path, text, expected):
    with pytest.raises(InputError, match=expected):
        read_potcar_species(written(tmp_path, text))


def test_a_missing_file_is_an_input_error(tmp_path):
    with pytest.raises(InputError, match="POTCAR: there is no such file"):
        read_potcar_species(tmp_path / "POTCAR")
