"""The wheel, as `pip install eigenwerk` brings it to somebody who has no checkout."""

import os
import re
import subprocess
import sys
import zipfile
from importlib.util import find_spec

import pytest

from eigenwerk import __version__

pytestmark = [pytest.mark.slow, pytest.mark.ci]

NO_INDEX = re.compile(r"No matching distribution found for hatchling|Could not find a version .* hatchling")

COMMAND = "from eigenwerk.cli.entry import command; command()"


def pip(*words):
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.fixture(scope="module")
def wheel(repository, tmp_path_factory):
    """The built wheel.  Without hatchling, pip has to fetch it."""
    folder = tmp_path_factory.mktemp("wheel")
    how = ["--no-build-isolation"] if find_spec("hatchling") else ["--retries", "0"]
    built = pip("wheel", "--no-deps", *how, "--wheel-dir", folder, repository)
    if built.returncode and NO_INDEX.search(built.stderr):
        pytest.skip("hatchling is not installed, and pip reaches no package index to fetch it from")
    assert built.returncode == 0, built.stderr
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """The folder that the wheel was installed into; the packages it needs are those of this Python."""
    target = tmp_path_factory.mktemp("installed")
    done = pip("install", "--no-deps", "--no-index", "--target", target, wheel)
    assert done.returncode == 0, done.stderr
    return target


@pytest.fixture
def outside(installed, tmp_path, monkeypatch):
    """Runs a program in an empty folder, where eigenwerk is what was installed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(installed))

    def run(*command):
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        assert not done.stderr
        return done.stdout

    return run


def test_name_version_licence_and_needs_are_those_of_the_package(wheel):
    assert wheel.name == f"eigenwerk-{__version__}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = archive.read(f"eigenwerk-{__version__}.dist-info/METADATA").decode()
    head = metadata.split("\n\n")[0].splitlines()
    assert "License-Expression: Apache-2.0" in head and "Requires-Dist: torch>=2.11" in head
    kept = [name.removeprefix(f"eigenwerk-{__version__}.dist-info/") for name in names]
    assert "licenses/LICENSE" in kept and "licenses/NOTICE" in kept
    assert {name.split("/")[0] for name in names} == {"eigenwerk", f"eigenwerk-{__version__}.dist-info"}


def test_wheel_holds_the_package_whole_with_its_data(installed, repository):
    def files(package):
        return {
            path.relative_to(package) for path in package.rglob("*")
            if path.is_file() and path.suffix not in {".pyc", ".pyo"}
        }  # fmt: skip

    expected = files(repository / "src" / "eigenwerk")
    assert {path.suffix for path in expected} >= {".py", ".json", ".typed"}
    assert files(installed / "eigenwerk") == expected


def test_command_runs_outside_the_checkout(outside, installed, repository):
    place = "import eigenwerk; print(eigenwerk.__file__)"
    assert outside(sys.executable, "-c", place).strip() == str(installed / "eigenwerk" / "__init__.py")
    command = str(installed / "bin" / "eigenwerk")
    assert os.access(command, os.X_OK)
    assert outside(command, "--version") == f"eigenwerk {__version__}\n"
    assert "check" in outside(sys.executable, "-c", COMMAND, "--help")


def test_installed_command_checks_an_example(outside, installed, repository, tmp_path):
    case = tmp_path / "silicon"
    case.mkdir()
    for name in ("INCAR", "POSCAR", "KPOINTS"):
        (case / name).write_bytes((repository / "examples" / "01_silicon_pbe" / name).read_bytes())
    shown = outside(str(installed / "bin" / "eigenwerk"), "check", "silicon")
    assert "Si.PBE" in shown and "Fd-3m" in shown
