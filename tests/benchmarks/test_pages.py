"""Every page of results says of which day, version and machine it is, and stands where the list says."""

import re

import pytest


@pytest.fixture(scope="module")
def listed(repository):
    """Rows of the list in benchmarks/README.md, by page."""
    text = (repository / "benchmarks" / "README.md").read_text()
    rows = re.findall(r"^\| \[(\S+)\]\((\S+)\) \| (.+) \|$", text, re.MULTILINE)
    assert all(name == target for name, target, _ in rows)
    return {name: [cell.strip() for cell in rest.split("|")] for name, _, rest in rows}


def test_every_page_of_results_is_listed_once(repository, listed):
    folder = repository / "benchmarks"
    pages = {path.relative_to(folder).as_posix() for path in folder.rglob("*.md") if path.name != "README.md"}
    assert sorted(listed) == sorted(pages)


def test_each_has_a_date_a_version_a_machine_and_says_which_density(listed):
    for name, cells in listed.items():
        date, version, machine, density = cells
        assert re.fullmatch(r"2\d{3}-\d\d-\d\d", date), name
        assert re.fullmatch(r"`[0-9a-f]{8}`|\d+\.\d+\.\d+", version), name
        assert machine and density in ("before", "today's", "not concerned", "`PREC = Accurate`"), name


def test_folders_are_about_twelve_and_each_is_a_question(repository):
    entries = (repository / "benchmarks").iterdir()
    folders = {path.name for path in entries if path.is_dir() and path.name[0] not in "._"}
    text = (repository / "benchmarks" / "README.md").read_text()
    asked = set(re.findall(r"^\| \*\*`([a-z_]+)`\*\* \| \*\*.+\*\* \| \|$", text, re.MULTILINE))
    assert asked == folders and len(folders) <= 14
    commands = re.findall(r"benchmarks/[a-z_/]+\.(?:py|sh)", text)
    assert len(commands) > 40 and all((repository / command).is_file() for command in commands)
