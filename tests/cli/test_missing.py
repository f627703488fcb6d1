"""Where a package is not installed, a sentence says which one and how to get it."""

import subprocess
import sys
import tomllib

import pytest

from eigenwerk.cli import main as door
from eigenwerk.cli import missing
from eigenwerk.cli.missing import missing_words

WITHOUT = """
import sys

class Nothing:
    def find_spec(self, name, path, target=None):
        if name.split(".")[0] in {packages!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Nothing())
sys.argv = ["eigenwerk", *{words!r}]
from eigenwerk.cli.entry import command
command()
"""


@pytest.fixture
def folder(repository, tmp_path, monkeypatch):
    """A copy of an example, in an empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    case = tmp_path / "case"
    case.mkdir()
    for name in ("INCAR", "POSCAR", "KPOINTS"):
        (case / name).write_bytes((repository / "examples" / "01_silicon_pbe" / name).read_bytes())
    return case


def command_without(packages, *words):
    """`eigenwerk WORDS` in a Python that lacks these packages."""
    script = WITHOUT.format(packages=packages, words=words)
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)


@pytest.fixture
def metadata(monkeypatch, repository):
    """The requirements of the tree beside the tests, as those of the installed eigenwerk."""
    declared = tomllib.loads((repository / "pyproject.toml").read_text())["project"]["dependencies"]
    monkeypatch.setattr(missing, "requires", lambda name: [*declared, 'ase>=3.23; extra == "ase"'])


@pytest.mark.slow
@pytest.mark.ci
def test_run_without_pytorch_says_what_to_install(folder, tmp_path):
    done = command_without(["torch"], "run", str(folder))
    assert done.returncode == 1
    (words,) = done.stderr.splitlines()
    assert words.startswith("The Python package torch is not installed, and eigenwerk does not work without.")
    assert f"{sys.executable} -m pip install " in words and "torch" in words.split("install ")[-1]
    assert not (tmp_path / "eigenwerk-crash.txt").exists()


@pytest.mark.slow
@pytest.mark.ci
def test_check_needs_no_pytorch(folder):
    done = command_without(["torch", "scipy", "h5py", "matplotlib"], "check", str(folder))
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.fast("typer", "numpy")
@pytest.mark.parametrize("package", ["typer", "rich", "numpy", "spglib", "gpaw_data"])
def test_packages_of_the_command_line_itself_are_told_too(package, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = command_without([package], "--version")
    assert done.returncode == 1 and done.stdout == ""
    (words,) = done.stderr.splitlines()
    assert words.startswith(f"The Python package {package} is not installed")


@pytest.mark.slow
@pytest.mark.parametrize("package", ["scipy", "h5py"])
def test_packages_that_only_calculations_need_are_told_too(package, folder):
    done = command_without([package], "run", str(folder), "--no-plot")
    assert done.returncode == 1
    assert done.stderr.startswith(f"The Python package {package} is not installed")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.slow
@pytest.mark.ranks
def test_ranks_without_pytorch_say_what_to_install(folder, tmp_path, monkeypatch):
    """A file `torch.py` that cannot be imported stands for the package, for all processes."""
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "torch.py").write_text("raise ModuleNotFoundError(\"No module named 'torch'\", name='torch')\n")
    monkeypatch.setenv("PYTHONPATH", str(hidden), prepend=":")
    command = [sys.executable, "-m", "eigenwerk.cli.main", "run", str(folder), "--ranks", "2"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert "The Python package torch is not installed" in done.stderr and "Traceback" not in done.stderr


def test_all_that_is_missing_is_installed_by_one_command(metadata, monkeypatch):
    monkeypatch.setattr(missing, "find_spec", lambda name: None if name in ("torch", "gpaw_data") else object())
    words = missing_words(ModuleNotFoundError("No module named 'torch'", name="torch"))
    assert "The Python packages gpaw_data and torch are not installed" in words
    assert words.endswith("-m pip install 'gpaw-data>=1.2.1' 'torch>=2.11'")


def test_package_of_a_package_is_named_as_it_is(metadata):
    words = missing_words(ModuleNotFoundError("No module named 'sympy'", name="sympy"))
    assert "package sympy is" in words and words.endswith("-m pip install sympy")


def test_sources_without_metadata_give_the_name_alone(monkeypatch):
    def requires(name):
        raise missing.PackageNotFoundError(name)

    monkeypatch.setattr(missing, "requires", requires)
    assert missing_words(ModuleNotFoundError("", name="torch")).endswith("-m pip install torch")


@pytest.mark.parametrize(
    "error",
    [
        ModuleNotFoundError("No module named 'torch.nothing'", name="torch.nothing"),
        ModuleNotFoundError("No module named 'eigenwerk.nothing'", name="eigenwerk.nothing"),
        ModuleNotFoundError("No module named 'json'", name="json"),
        ModuleNotFoundError("nobody knows"),
        ImportError("cannot import name 'f' from 'torch'", name="torch"),
        ZeroDivisionError("x"),
    ],
)
def test_other_errors_are_no_matter_of_installing(error):
    assert missing_words(error) is None


def test_a_broken_import_stays_a_fault_of_the_program(monkeypatch, capsys, tmp_path):
    def app(**words):
        raise ModuleNotFoundError("No module named 'torch.nothing'", name="torch.nothing")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(door, "app", app)
    assert door.main(["run"]) == 1
    assert "Internal error of eigenwerk" in capsys.readouterr().err and (tmp_path / "eigenwerk-crash.txt").exists()
