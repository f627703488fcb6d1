"""The table of INCAR tags: complete, consistent, and the same as the documentation."""

import re
import runpy

import pytest

from eigenwerk.io.vasp.input.incar import judge, parse_incar
from eigenwerk.io.vasp.tags.base import KINDS, STATES, Derived, show
from eigenwerk.io.vasp.tags.table import TAGS, find_tag, nearest_tag


def test_every_tag_of_the_format_paper_is_in_the_table(shared_dir):
    text = (shared_dir / "design/vasp-formats.md").read_text()
    section = text.split("## 2. INCAR")[1].split("### 2h")[0]
    cells = [line.split("|")[1] for line in section.splitlines() if line.startswith("| ") and "(file)" not in line]
    names = {name.strip() for cell in cells for name in re.sub(r"\(.*?\)", "", cell).split("/")} - {"tag", ""}
    assert len(names) > 185
    assert names - set(TAGS) == set()


def test_the_documentation_holds_the_table(repository):
    page = runpy.run_path(str(repository / "tools" / "make_tags_page.py"))
    assert page["PAGE"].read_text() == page["page_with_table"]()
    assert page["KEYWORDS"].read_text() == page["keywords_module"]()


@pytest.mark.parametrize("tag", TAGS.values(), ids=TAGS)
def test_rows_are_consistent(tag):
    assert tag.kind in KINDS
    assert tag.status in STATES
    assert tag.name == tag.name.upper()
    assert tag.help.endswith((".", ")"))
    assert all(choice.status in ("", *STATES) for choice in tag.choices)
    assert not (tag.off_values and tag.status != "refused")
    for choice in tag.choices:
        status = choice.status or tag.status
        assert status != "inert" or choice.note or tag.note, "an ignored value needs its reason"
        assert status != "refused" or ((choice.note or tag.note) and (choice.remedy or tag.remedy))
    if tag.status != "honoured":
        assert tag.note, "a tag that is not honoured needs its reason"
    if tag.status == "refused":
        assert tag.remedy


WITH_DEFAULT = {
    name: tag for name, tag in TAGS.items() if tag.default not in (None, ()) and not isinstance(tag.default, Derived)
}


@pytest.mark.parametrize("tag", WITH_DEFAULT.values(), ids=WITH_DEFAULT)
def test_defaults_are_legal_values_and_not_refused(tag):
    incar = parse_incar(f"{tag.name} = {show(tag.default)}")
    assert incar.problems == ()
    assert all(problem.severity != "error" for problem in judge(incar))


def test_names_are_found_without_case_and_guessed_when_misspelt():
    assert find_tag("encut") is TAGS["ENCUT"]
    assert find_tag("ENCUTT") is None
    assert nearest_tag("ENCTU") == "ENCUT"
    assert nearest_tag("ISMAER") == "ISMEAR"
    assert nearest_tag("QQQQQQQQ") is None
