"""The one table of functionals: what INCAR, messages, data sets and documentation take from it."""

import pytest

from eigenwerk.errors import InputError
from eigenwerk.functionals import lda, pbe
from eigenwerk.functionals.functional import INGREDIENTS
from eigenwerk.functionals.table import DEFAULT, FUNCTIONALS, OFFERED, PARTS, find_functional, libxc_functional, listed
from eigenwerk.io.paw.dataset import FUNCTIONAL_NAMES
from eigenwerk.io.vasp.tags.table import TAGS


def test_the_table_holds_what_the_files_declare_once_each():
    assert set(FUNCTIONALS.values()) >= {*lda.FUNCTIONALS, *pbe.FUNCTIONALS}
    words = [word for functional in FUNCTIONALS.values() for word in (functional.tag, *functional.aliases)]
    assert len({*words, *(functional.title for functional in FUNCTIONALS.values())} & set(words)) == len(words)


@pytest.mark.parametrize("functional", FUNCTIONALS.values(), ids=FUNCTIONALS)
def test_rows_are_consistent(functional):
    assert functional.tag == functional.tag.upper()
    assert functional.ingredients == tuple(name for name in INGREDIENTS if name in functional.ingredients)
    assert functional.data and functional.data[-1] in ("PBE", "LDA"), "gpaw-data has sets of these for every element"


def test_incar_offers_what_the_table_does():
    choices = {choice.value: choice for choice in TAGS["GGA"].choices if choice.status != "refused"}
    assert list(choices) == [*(functional.tag for functional in OFFERED), "LIBXC"] and TAGS["GGA"].default == DEFAULT
    assert all(functional.title in TAGS["GGA"].help for functional in OFFERED)
    assert "PE-EXACT" not in choices
    assert not {choice.value for choice in TAGS["GGA"].choices if choice.status == "refused"} & set(choices)


def test_data_sets_of_libxc_have_the_name_of_the_functional():
    assert FUNCTIONAL_NAMES["GGA_X_PBE+GGA_C_PBE"] == "PBE"
    assert FUNCTIONAL_NAMES["GGA_X_PBE_R+GGA_C_PBE"] == "revPBE"
    assert FUNCTIONAL_NAMES["LDA_X+LDA_C_PW"] == "LDA" and "LDA_X+LDA_C_PZ" not in FUNCTIONAL_NAMES


def test_the_page_of_equations_names_every_functional_with_its_parts(repository):
    page = (repository / "docs/equations/xc.md").read_text()
    for functional in FUNCTIONALS.values():
        assert f"| {functional.tag} | {functional.title} | {' + '.join(functional.libxc).upper()}" in page


def test_names_are_found_without_case_and_unknown_ones_refused():
    assert find_functional(" pe ") is FUNCTIONALS["PE"]
    assert listed().startswith("PE (PBE), ") and "PS (PBEsol)" in listed() and "91-LIBXC" not in listed()
    with pytest.raises(InputError, match=r"GGA = XX: no such functional\. Known are PE \(PBE\)"):
        find_functional("XX")


def test_names_of_libxc_in_any_order_and_spelling_mean_the_rows_that_have_these_parts():
    for functional in FUNCTIONALS.values():
        # PE has its parts but for the digits of its constants; B3 and B5 have three, more than INCAR can name
        if len(functional.libxc) == 2 and functional.tag != "PE":
            assert libxc_functional(*functional.libxc) is libxc_functional(*reversed(functional.libxc)) is functional
    assert libxc_functional("101", "130") is find_functional("XC_GGA_X_PBE + gga_c_pbe") is FUNCTIONALS["PE-EXACT"]
    other = libxc_functional("133", "GGA_X_RPBE")
    assert other is find_functional("GGA_X_RPBE+GGA_C_PBE_SOL") is find_functional(other.tag)
    assert other.data == (other.tag, "RPBE", "PBE") and find_functional("LDA_X").data == ("LDA_X", "LDA")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("GGA_X_G96",), r"no formula of libxc's GGA_X_G96\. There are LDA_X \(1\), GGA_X_B86_R \(41\)"),
        (("406",), "no formula of libxc's 406"),
        (("GGA_X_PBE", ""), "no formula of libxc's empty name"),
        (("101", "117"), "GGA_X_PBE and GGA_X_RPBE are no exchange and correlation"),
        (("101", "130", "12"), "are no exchange and correlation"),
    ],
)
def test_what_is_no_functional_of_libxc_here_is_refused_with_those_that_are(words, message):
    with pytest.raises(InputError, match=message):
        libxc_functional(*words)


def test_the_page_of_equations_names_every_part(repository):
    page = (repository / "docs/equations/xc.md").read_text()
    assert all(f"| {part.name} | {part.number} | " in page for part in PARTS.values())
