"""Every command and every piece of Python in README and the guides runs as it stands there."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from eigenwerk.cli.main import main
from rank_pool import why_no_mpi

ROOT = Path(__file__).resolve().parent.parent
PAGES = ["README.md", *sorted(f"docs/guides/{path.name}" for path in (ROOT / "docs" / "guides").glob("*.md"))]
SILICON = {
    "POSCAR": "silicon\n5.43\n0 .5 .5\n.5 0 .5\n.5 .5 0\nSi\n2\nDirect\n0 0 0\n.25 .25 .26\n",
    "KPOINTS": "mesh\n0\nGamma\n1 1 1\n",
    "INCAR": "ENCUT = 100\nEDIFF = 1E-2\nISMEAR = 0\nSIGMA = 0.05\nNBANDS = 6\n",
}
CUBE = "1 0 0\n0 1 0\n0 0 1\nGa As\n4 4\nDirect\n0 0 0\n0 .5 .5\n.5 0 .5\n.5 .5 0\n"
GAAS = f"GaAs\n5.65\n{CUBE}.25 .25 .25\n.25 .75 .75\n.75 .25 .75\n.75 .75 .25\n"
COPPER = "Cu\n3.61\n0 .5 .5\n.5 0 .5\n.5 .5 0\nCu\n1\nDirect\n0 0 0\n"
QUICK_CODE = (
    "docs/guides/build.md", "docs/guides/check.md", "docs/guides/relaxation.md", "docs/guides/vibrations.md",
)  # fmt: skip
LONG_CODE = (
    "README.md", "docs/guides/python.md", "docs/guides/run.md", "docs/guides/parallel.md", "docs/guides/ncci.md",
)  # fmt: skip


DEAR = {
    "README.md": (pytest.mark.slow, pytest.mark.ci), "docs/guides/looking.md": pytest.mark.slow,
    "docs/guides/python.md": pytest.mark.slow,
}  # fmt: skip
"""Pages whose quick commands together take more than a fast test may."""


def blocks(page, kind):
    return re.findall(rf"^```{kind}\n(.*?)^```$", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)


def commands(page):
    """The words of each command of a page."""
    return [shlex.split(line, comments=True) for block in blocks(page, "sh") for line in block.splitlines()]


def is_quick(words):
    """In this process, within a second or two."""
    if words[:2] == ["eigenwerk", "run"]:
        return words[2] == "DIR" and "--ranks" not in words
    if words[:2] == ["eigenwerk", "relax"]:
        return False
    return words[0] == "eigenwerk" and words[1:3] not in (["ncci", "run"], ["ncci", "plot"])


def is_long(words):
    """In processes of their own, or a calculation of some size."""
    return words[0] in ("mpirun", "torchrun") or (words[0] == "eigenwerk" and not is_quick(words))


@pytest.fixture
def ground(tmp_path, monkeypatch):
    """A folder, the current one, with all that the pages name; mgo as one of them describes it."""
    mgo = dict(zip(("POSCAR", "KPOINTS", "INCAR"), blocks("docs/guides/getting_started.md", "text"), strict=True))
    folders = {"DIR": SILICON, "silicon": SILICON, "mgo": mgo, "gaas": {"POSCAR": GAAS}, "cu": {"POSCAR": COPPER}}
    for folder, files in {**folders, ".": mgo}.items():
        (tmp_path / folder).mkdir(exist_ok=True)
        for name, text in files.items():
            (tmp_path / folder / name).write_text(text)
    (tmp_path / "case.toml").write_text(blocks("docs/guides/ncci.md", "toml")[0])
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def recorded(ground):
    """The record of a run in DIR and RUN."""
    assert main(["run", "DIR", "--quiet"]) == 0
    (ground / "RUN").symlink_to(ground / "DIR")


def test_all_pages_have_their_commands_and_no_other_kind_of_code():
    for page in PAGES:
        kinds = set(re.findall(r"^```(\w*)\n.*?^```$", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL))
        assert kinds <= {"sh", "python", "toml", "text"}, page
        assert not re.search(r"^(    |```\n)eigenwerk", (ROOT / page).read_text(), re.MULTILINE), page
        assert (page in QUICK_CODE + LONG_CODE) == ("python" in kinds), page
    assert sum(len(commands(page)) for page in PAGES) > 30


def test_every_page_stands_in_the_menu_and_shows_modules_that_exist():
    menu = re.findall(r"(\S+\.md)$", (ROOT / "properdocs.yml").read_text(), re.MULTILINE)
    pages = {path.relative_to(ROOT / "docs").as_posix(): path for path in (ROOT / "docs").rglob("*.md")}
    assert sorted(menu) == sorted(pages)
    shown = [name for page in pages.values() for name in re.findall(r"^::: (\S+)", page.read_text(), re.MULTILINE)]
    assert len(shown) > 50
    assert [name for name in shown if not (ROOT / "src" / (name.replace(".", "/") + ".py")).is_file()] == []


@pytest.mark.fast("docs/guides/check.md", "docs/guides/ncci.md")
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=DEAR.get(page, ()))
        for page in PAGES if any(map(is_quick, commands(page)))
    ],
)  # fmt: skip
def test_quick_commands_run(page, ground, job_folder, request):
    quick = [words for words in commands(page) if is_quick(words)]
    if any(words[1] in ("perf", "plot", "report") for words in quick):
        request.getfixturevalue("recorded")
    if any("pdo4" in words for words in quick):
        (ground / "pdo4").symlink_to(job_folder("pdo4"))
    for words in quick:
        assert main(words[1:]) == 0, words
        if "-o" in words:
            assert (ground / words[words.index("-o") + 1]).is_file()


@pytest.mark.slow
@pytest.mark.ranks
@pytest.mark.parametrize("page", [page for page in PAGES if any(map(is_long, commands(page)))])
def test_long_commands_run(page, ground):
    allowed = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    allowed["PRTE_MCA_rmaps_default_mapping_policy"] = ":oversubscribe"
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for words in filter(is_long, commands(page)):
        if words[0] == "mpirun" and why_no_mpi():
            continue
        if words[:2] == ["eigenwerk", "relax"]:  # with the point Gamma alone silicon is no crystal
            (ground / "DIR" / "KPOINTS").write_text("mesh\n0\nGamma\n2 2 2\n")
        done = subprocess.run(words, env={**os.environ, **allowed, "PATH": path}, capture_output=True, text=True)
        assert done.returncode == 0, (words, done.stdout, done.stderr)


@pytest.mark.parametrize("page", PAGES)
def test_what_sets_up_fits_the_repository(page, ground):
    """Containers, make and pip fetch packages, and srun needs Slurm: looked at, not run."""
    for words in commands(page):
        match words:
            case ["make", target]:
                assert f"\n{target}: " in (ROOT / "Makefile").read_text()
            case ["pip", "install", "-e", project]:
                extra = re.fullmatch(r"\.\[(\w+)\]", project)[1]
                assert f"\n{extra} = [" in (ROOT / "pyproject.toml").read_text()
            case ["docker", "build", *_, "."]:
                assert 'ENTRYPOINT ["eigenwerk"]' in (ROOT / "Dockerfile").read_text()
            case ["apptainer", "build", "eigenwerk.sif", recipe]:
                assert 'exec eigenwerk "$@"' in (ROOT / recipe).read_text()
            case ["docker" | "apptainer", "run", *_, ("eigenwerk" | "eigenwerk.sif"), "run", folder]:
                assert (ground / folder / "INCAR").is_file()
            case ["srun", *rest]:
                assert is_quick(rest)
            case _:
                assert is_quick(words) or is_long(words), words


@pytest.mark.parametrize("page", QUICK_CODE)
def test_quick_code_runs(page, ground):
    (ground / "vacancy").mkdir()
    exec("\n".join(blocks(page, "python")), {})


@pytest.mark.slow
@pytest.mark.parametrize("page", LONG_CODE)
def test_long_code_runs(page, ground):
    done = subprocess.run([sys.executable, "-c", "\n".join(blocks(page, "python"))], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout, done.stderr
