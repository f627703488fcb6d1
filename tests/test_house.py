"""The house around the code: what a newcomer, a packager and a user's patience rely on."""

import os
import re
import runpy
import subprocess
import sys
import tomllib
from itertools import chain

import pytest
from packaging.requirements import Requirement

from eigenwerk import __version__
from eigenwerk.io.vasp.input.incar import judge, read_incar
from eigenwerk.ncci.inputs.inputs import read_cases

CHECK_PATH = (
    "eigenwerk.errors",
    "eigenwerk.units",
    "eigenwerk.cli.main",
    "eigenwerk.dft.inputs.inputs",
    "eigenwerk.dft.crystal.kpoints",
    "eigenwerk.dft.settings.parameters",
    "eigenwerk.dft.crystal.structure",
    "eigenwerk.dft.crystal.symmetry",
    "eigenwerk.io.paw.formats",
    "eigenwerk.ncci.inputs.check_text",
    "eigenwerk.ncci.estimate",
    "eigenwerk.ncci.refusal",
    "eigenwerk.ncci.sources",
)
"""Modules that `eigenwerk check` loads, besides all of eigenwerk.io: they must start fast."""

SLOW_PACKAGES = ("torch", "matplotlib", "ase", "pymatgen", "phonopy")

EXAMPLES = (
    "01_silicon_pbe", "02_aluminium_metal", "03_iron_magnet", "04_water_molecule", "07_silicon_bands", "08_graphite",
)  # fmt: skip
NUCLEI = ("05_lithium6", "06_neon20")


def commands_of_readme(repository):
    block = re.search(r"```[a-z]*\n(.*?)```", (repository / "README.md").read_text(), re.DOTALL)
    return [line.split("#")[0].strip() for line in block[1].splitlines()]


def test_readme_begins_with_demo_and_test(repository):
    text = (repository / "README.md").read_text()
    assert re.match(r"# eigenwerk\n\n```", text), "the two commands stand directly under the title"
    assert commands_of_readme(repository) == ["make demo", "make test"]


def test_makefile_has_what_readme_and_ci_call(repository):
    makefile = (repository / "Makefile").read_text()
    for command in [*commands_of_readme(repository), "make test-all", "make docs", "make clean"]:
        assert re.search(rf"^{command.split()[1]}:", makefile, re.MULTILINE), command
    assert "make test" in (repository / ".ci" / "run").read_text()


def declared_requirements(repository):
    """Every package that pyproject.toml names, without those that build the wheel; name -> what it asks for."""
    project = tomllib.loads((repository / "pyproject.toml").read_text())["project"]
    entries = [*project["dependencies"], *chain(*project["optional-dependencies"].values())]
    return {requirement.name: requirement.specifier for requirement in map(Requirement, entries)}


def test_constraints_hold_one_allowed_version_of_every_declared_package(repository):
    """`make` installs what the tests saw, and pip alone is not kept from newer versions."""
    lines = [line.split("#")[0].strip() for line in (repository / "constraints.txt").read_text().splitlines()]
    pinned = {pin.name: pin.specifier for pin in map(Requirement, filter(None, lines))}
    allowed = declared_requirements(repository)
    assert sorted(pinned) == sorted(allowed)
    for name, pin in pinned.items():
        (only,) = pin
        assert only.operator == "==" and allowed[name].contains(only.version), name
    assert not any(rule.operator in ("<", "<=", "==", "~=") for rule in allowed["torch"])


@pytest.mark.parametrize(
    ("words", "expected"), [((), "--constraint constraints.txt"), (("CONSTRAINTS=",), ""), (("CONSTRAINTS=x",), None)]
)
def test_make_installs_by_the_constraints_file_unless_told_otherwise(repository, words, expected):
    command = ["make", "--dry-run", "demo", "VENV=build/none", f"PYTHON={sys.executable}", *words]
    # the tests may have been started by make, whose words must not reach this one
    ours = {"MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "CONSTRAINTS", "PIP_ARGS"}
    environment = {name: value for name, value in os.environ.items() if name not in ours}
    done = subprocess.run(command, cwd=repository, env=environment, capture_output=True, text=True)
    if expected is None:  # a file that is missing stops make: every stamp depends on it
        assert done.returncode and "No rule to make target 'x'" in done.stderr
        return
    (install,) = re.findall(r"-m pip install (.*)", done.stdout)
    assert install.split() == ["--quiet", *expected.split(), "--editable", "'.[fftw]'"]


def test_ci_script_can_be_executed_and_is_valid(repository):
    script = repository / ".ci" / "run"
    assert script.stat().st_mode & 0o111
    assert subprocess.run(["bash", "-n", str(script)], capture_output=True).returncode == 0


def test_licence_is_the_whole_apache_2_and_the_data_licence_is_named(repository):
    text = (repository / "LICENSE").read_text()
    assert "Apache License" in text and "Version 2.0, January 2004" in text and "END OF TERMS AND CONDITIONS" in text
    readme = " ".join((repository / "README.md").read_text().split())
    assert "gpaw-data" in readme and "GNU General Public License" in readme


def test_citation_names_this_version_and_licence(repository):
    """The keys that CITATION.cff 1.2.0 asks for, and those that change."""
    lines = (repository / "CITATION.cff").read_text().splitlines()
    given = dict(line.split(": ", 1) for line in lines if re.match(r"[a-z-]+: ", line))
    assert given["cff-version"] == "1.2.0" and given["version"] == __version__ and given["license"] == "Apache-2.0"
    assert given.keys() >= {"message", "title", "abstract"} and "authors:" in lines


@pytest.mark.parametrize("recipe", ["Dockerfile", "eigenwerk.def"])
def test_container_recipes_end_in_make_demo_and_find_what_they_copy(repository, recipe):
    lines = (repository / recipe).read_text().splitlines()
    assert re.search(r'make demo PIP_ARGS="--extra-index-url \S.*"$', lines[-1])
    for line in lines:
        if copied := re.match(r" +(\S+) /opt/eigenwerk/", line):
            assert (repository / copied[1]).exists(), copied[1]


def test_apptainer_image_gets_all_that_its_installation_needs(repository):
    """It copies files by name, for it knows no list of what to leave out."""
    recipe = (repository / "eigenwerk.def").read_text()
    project = tomllib.loads((repository / "pyproject.toml").read_text())["project"]
    needed = {project["readme"], *project["license-files"], "src", "examples", "Makefile", "pyproject.toml"}
    for name in {*needed, "constraints.txt"}:
        assert f"    {name} /opt/eigenwerk/{name}\n" in recipe


def test_newest_entry_of_the_changelog_is_the_version(repository):
    heads = re.findall(r"^## (\S+)", (repository / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert heads[0] == __version__


def test_readme_names_files_and_pages_that_exist(repository):
    for page in [*repository.glob("*.md"), *repository.glob("examples/*/README.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_page_of_modules_is_what_their_docstrings_say(repository):
    """`python tools/make_modules_page.py` writes it; every file and folder has a docstring."""
    tool = runpy.run_path(str(repository / "tools" / "make_modules_page.py"))
    package = repository / "src" / "eigenwerk"
    silent = [path for path in package.rglob("*.py") if not tool["first_sentence"](path)]
    assert not silent, "these say nothing about themselves"
    words = tool["modules_markdown"](package)
    assert (repository / "docs" / "modules.md").read_text() == words, "run: python tools/make_modules_page.py"


def test_data_files_of_the_package_are_in_the_wheel(repository):
    """hatchling packs what git does not ignore: no data file of the package may match .gitignore."""
    data = [p for p in (repository / "src").rglob("*") if p.suffix in {".json", ".typed", ".cu"}]
    assert data
    names = "\n".join(str(path.relative_to(repository)) for path in data)
    command = ["git", "check-ignore", "--stdin"]
    ignored = subprocess.run(command, cwd=repository, input=names, capture_output=True, text=True)
    if ignored.returncode == 128:
        pytest.skip("not a git checkout")
    assert ignored.stdout == ""


def test_no_dependency_is_imported_that_is_not_declared(repository):
    """A fresh machine has what pyproject.toml names and nothing else."""
    project = tomllib.loads((repository / "pyproject.toml").read_text())["project"]
    declared = {re.split(r"[<>=!~ \[]", entry)[0].replace("-", "_") for entry in project["dependencies"]}
    optional = {"ase", "mpi4py", "pynvml", "cuda", "triton", "pyfftw", "dftd3", "dftd4"}
    used = set()
    from_or_import = r"^ *(?:from (\w+)[\w.]* import\b|import (\w+)[\w.]*(?: as \w+)?(?: *[#,].*)?$)"
    statement = re.compile(from_or_import, re.MULTILINE)
    for path in (repository / "src").rglob("*.py"):
        used |= {one or other for one, other in statement.findall(path.read_text())}
    assert used - declared - optional - {"eigenwerk"} - set(sys.stdlib_module_names) == set()


def modules_of_check(repository):
    package = repository / "src" / "eigenwerk"
    below_io = (path.relative_to(package.parent).with_suffix("") for path in (package / "io").rglob("*.py"))
    return sorted({*CHECK_PATH, *(".".join(path.parts).removesuffix(".__init__") for path in below_io)})


@pytest.mark.slow
@pytest.mark.ci
def test_modules_on_the_way_of_check_load_no_slow_package(repository):
    program = (
        "import importlib, sys\n"
        f"for name in {modules_of_check(repository)!r}:\n"
        "    importlib.import_module(name)\n"
        f"    found = [package for package in {SLOW_PACKAGES!r} if package in sys.modules]\n"
        "    assert not found, f'{name} loads {found}'\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("example", EXAMPLES)
def test_example_has_its_files_and_a_short_readme(repository, example):
    folder = repository / "examples" / example
    names = {path.name for path in folder.iterdir()}
    assert names - {"KPOINTS_OPT"} == {"INCAR", "KPOINTS", "POSCAR", "README.md"}
    readme = (folder / "README.md").read_text()
    assert f"eigenwerk run examples/{example} --output build/" in readme
    assert len(readme.splitlines()) == 5


@pytest.mark.parametrize("example", EXAMPLES)
def test_example_incar_is_honoured_without_a_remark(repository, example):
    incar = read_incar(repository / "examples" / example / "INCAR")
    assert [str(problem) for problem in [*incar.problems, *judge(incar)]] == []
    assert "ENCUT" in incar.values


@pytest.mark.parametrize("example", NUCLEI)
def test_example_of_a_nucleus_has_a_case_and_a_short_readme(repository, example):
    folder = repository / "examples" / example
    assert read_cases(folder / "case.toml")
    readme = (folder / "README.md").read_text()
    assert f"examples/{example}/case.toml -o build/" in readme and len(readme.splitlines()) < 25


def test_examples_are_numbered_and_all_tested(repository):
    folders = sorted(path.name for path in (repository / "examples").iterdir() if path.is_dir())
    assert folders == sorted([*EXAMPLES, *NUCLEI])


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_newcomers_pages_name_only_make_targets_that_exist(repository, page):
    targets = set(re.findall(r"^([a-z-]+):", (repository / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"(?:^|`)make ([a-z-]+)", (repository / page).read_text(), re.MULTILINE))
    assert named and named <= targets
