"""The table of INCAR tags: complete, consistent, and the same as the documentation."""

import re
import runpy
from dataclasses import replace

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


def faults_of(tag):
    """What is wrong with a row, in words."""
    checks = [
        (tag.kind in KINDS, "no such kind"),
        (tag.status in STATES, "no such status"),
        (tag.name == tag.name.upper(), "not in capitals"),
        (tag.help.endswith((".", ")")), "its help is no sentence"),
        (all(choice.status in ("", *STATES) for choice in tag.choices), "no such status of a choice"),
        (not tag.off_values or tag.status == "refused", "off_values, but it is not refused"),
        (tag.status == "honoured" or tag.note, "a tag that is not honoured needs its reason"),
        (tag.status != "refused" or tag.remedy, "what is refused needs a remedy"),
    ]
    for choice in tag.choices:
        status, note = choice.status or tag.status, choice.note or tag.note
        checks += [
            (status != "inert" or note, "an ignored value needs its reason"),
            (status != "refused" or note, "a refused value needs its reason"),
            (status != "refused" or choice.remedy or tag.remedy, "a refused value needs a remedy"),
        ]
    return [words for right, words in checks if not right]


def test_rows_are_consistent():
    assert {tag.name: faults for tag in TAGS.values() if (faults := faults_of(tag))} == {}


def test_wrong_rows_are_seen():
    row = replace(TAGS["ENCUT"], kind="x", status="refused", name="encut", help="no", note="", remedy="")
    assert len(faults_of(row)) == 5


WITH_DEFAULT = {
    name: tag for name, tag in TAGS.items() if tag.default not in (None, ()) and not isinstance(tag.default, Derived)
}


def test_defaults_are_legal_values_and_not_refused():
    found = {}
    for name, tag in WITH_DEFAULT.items():
        incar = parse_incar(f"{name} = {show(tag.default)}")
        found[name] = [*incar.problems, *(problem for problem in judge(incar) if problem.severity == "error")]
    assert len(found) > 100 and {name: problems for name, problems in found.items() if problems} == {}


def test_names_are_found_without_case_and_guessed_when_misspelt():
    assert find_tag("encut") is TAGS["ENCUT"]
    assert find_tag("ENCUTT") is None
    assert nearest_tag("ENCTU") == "ENCUT"
    assert nearest_tag("ISMAER") == "ISMEAR"
    assert nearest_tag("QQQQQQQQ") is None
