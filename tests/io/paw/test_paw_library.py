"""Which file is taken for an element, and the cutoffs that go with it."""

import gzip
import shutil
from itertools import pairwise

import pytest
from gpaw_data import datapath

from eigenwerk.errors import InputError
from eigenwerk.functionals.table import find_functional
from eigenwerk.io.paw.paw_library import choose_dataset, list_datasets, recommended_cutoff
from eigenwerk.io.paw.paw_xml import read_paw_header


def put(source, target, replace=()):
    """Copy a data set of gpaw-data, unzipped, with words replaced."""
    text = gzip.decompress((datapath() / source).read_bytes()).decode()
    for old, new in replace:
        assert old in text
        text = text.replace(old, new)
    target.write_text(text)
    return target


@pytest.mark.parametrize(("functional", "sets", "elements"), [("PBE", 109, 83), ("LDA", 109, 83), ("RPBE", 85, 68)])
def test_all_sets_are_listed_and_every_element_has_a_plain_one(functional, sets, elements):
    entries = list_datasets(functional)
    assert len(entries) == sets
    assert len({entry.element for entry in entries}) == elements
    for element in {entry.element for entry in entries}:
        assert choose_dataset(element, functional) == datapath() / f"{element}.{functional}.gz"


def test_variants_are_taken_by_name():
    assert choose_dataset("Cr", variant="14").name == "Cr.14.PBE.gz"
    assert choose_dataset("Cr", "LDA", variant="v3").name == "Cr.v3.LDA.gz"
    assert choose_dataset("Cr", variant="").name == "Cr.PBE.gz"


def test_functionals_without_own_sets_take_those_that_they_declare():
    assert choose_dataset("O", *find_functional("RP").data).name == "O.RPBE.gz"
    assert choose_dataset("La", *find_functional("RP").data).name == "La.PBE.gz"
    assert choose_dataset("O", *find_functional("PS").data).name == "O.PBE.gz"
    with pytest.raises(InputError, match="element O, functional HSE06"):
        choose_dataset("O", "HSE06")


def test_lda_never_takes_a_pbe_set(tmp_path):
    put("Si.PBE.gz", tmp_path / "Po.PBE")
    assert choose_dataset("Po", "PBE", folders=(tmp_path,)).name == "Po.PBE"
    with pytest.raises(InputError, match="element Po, functional LDA"):
        choose_dataset("Po", "LDA", folders=(tmp_path,))


def test_folders_come_before_the_package_in_their_order(tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    put("Si.PBE.gz", second / "Si.PBE")
    assert choose_dataset("Si", folders=(first, second)) == second / "Si.PBE"
    shutil.copy(datapath() / "Si.PBE.gz", first)
    assert choose_dataset("Si", folders=(first, second)) == first / "Si.PBE.gz"
    assert choose_dataset("O", folders=(first, second)) == datapath() / "O.PBE.gz"
    assert [entry.file for entry in list_datasets("PBE", (first, second))[:2]] == [
        first / "Si.PBE.gz", second / "Si.PBE",
    ]  # fmt: skip


def test_xml_files_of_any_name_serve_the_functional_they_were_made_for(tmp_path):
    libxc = [('name="PBE"', 'name="GGA_X_PBE_SOL+GGA_C_PBE_SOL"')]
    file = put("Si.PBE.gz", tmp_path / "Si.GGA_PBESOL-mine.xml", libxc)
    (tmp_path / "vasprun.xml").write_text("<modeling/>")
    assert choose_dataset("Si", "PBEsol", folders=(tmp_path,)) == file
    assert choose_dataset("Si", "PBEsol", variant="GGA_PBESOL-mine", folders=(tmp_path,)) == file
    assert choose_dataset("Si", "PBE", folders=(tmp_path,)) == datapath() / "Si.PBE.gz"
    assert list_datasets("PBEsol", (tmp_path,))[0].variant == "GGA_PBESOL-mine"


def test_damaged_files_of_other_elements_do_no_harm(tmp_path):
    (tmp_path / "O.xml").write_text("<paw_dataset>")
    file = put("Si.PBE.gz", tmp_path / "Si.xml")
    assert choose_dataset("Si", folders=(tmp_path,)) == file
    with pytest.raises(InputError, match=r"O\.xml.*damaged"):
        choose_dataset("O", folders=(tmp_path,))


def test_several_sets_without_a_plain_one_are_ambiguous(tmp_path):
    for name in ("Si.soft.PBE", "Si.hard.PBE"):
        put("Si.PBE.gz", tmp_path / name)
    with pytest.raises(InputError, match=r"2 PAW data sets.*Si\.hard\.PBE, Si\.soft\.PBE\. Name the variant"):
        choose_dataset("Si", folders=(tmp_path,))
    assert choose_dataset("Si", variant="soft", folders=(tmp_path,)).name == "Si.soft.PBE"


def test_missing_sets_are_explained(tmp_path):
    with pytest.raises(InputError, match=r"element Po, functional PBE .*Ag Al Ar .* Zr\. Give a folder"):
        choose_dataset("Po")
    with pytest.raises(InputError, match=r"Did you mean Si\?"):
        choose_dataset("SI")
    with pytest.raises(InputError, match=r"variant v9 .*Variants of Cr that exist: \(plain\), 14, v3"):
        choose_dataset("Cr", variant="v9")
    with pytest.raises(InputError, match="there is no such folder"):
        choose_dataset("Si", folders=(tmp_path / "nowhere",))


@pytest.mark.slow
@pytest.mark.parametrize("functional", ["PBE", "LDA", "RPBE", "revPBE"])
def test_every_set_has_cutoffs_by_checksum(functional):
    for entry in list_datasets(functional):
        advice = recommended_cutoff(read_paw_header(entry.file))
        assert advice is not None and advice.source == "eigenwerk's table", entry
        assert 150 <= advice.minimum_eV <= advice.recommended_eV <= 1200, entry
        at_ten, at_five, at_one = advice.differences_eV
        assert 100 <= at_ten <= at_five <= at_one <= 1500 and at_ten <= advice.minimum_eV, entry
        assert [round(1000 * advice.expected_error_eV(at_one + more), 6) for more in (0, 1e6)] == [1, 0]
        ladder = [advice.expected_error_eV(cutoff) for cutoff in range(50, 1600, 7)]
        assert all(high > low for high, low in pairwise(ladder)), entry


def test_errors_are_those_of_the_table_where_it_has_them_and_lie_between():
    advice = recommended_cutoff(read_paw_header(choose_dataset("Si")))
    assert [round(1000 * advice.expected_error_eV(cutoff), 6) for cutoff in advice.differences_eV] == [10, 5, 1]
    assert 0.005 > advice.expected_error_eV(180) > 0.001 > advice.expected_error_eV(300) > 0
    assert advice.expected_error_eV(100) > 0.010


def test_a_changed_file_is_not_in_the_table(tmp_path):
    header = read_paw_header(put("Si.PBE.gz", tmp_path / "Si.PBE", [("Frozen core: [Ne]", "Frozen core: [Ne] ")]))
    assert recommended_cutoff(header) is None


def test_advice_of_the_file_itself_is_second(tmp_path):
    ecut = [("<core_energy", '<pw_ecut low="10.0" medium="12.0" high="15.0"/>\n<core_energy')]
    advice = recommended_cutoff(read_paw_header(put("Si.PBE.gz", tmp_path / "Si.PBE", ecut)))
    assert advice.minimum_eV == pytest.approx(272.11386)
    assert advice.recommended_eV == pytest.approx(408.17079)
    assert "pw_ecut" in advice.source
