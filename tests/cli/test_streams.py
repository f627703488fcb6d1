"""Commands whose output nobody reads, or cannot be written, end as they would have ended, or say so."""

import os
import subprocess
import sys

import pytest

COLD = [sys.executable, "-P", "-m", "eigenwerk.cli.entry"]


def shell(words, folder):
    command = f"{' '.join(COLD)} {words}"
    return subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, text=True, timeout=200)


@pytest.mark.slow
@pytest.mark.ci
@pytest.mark.parametrize("words", ["check . >&-", "check . <&- >&- 2>&-", "check . | head -c 0; exit ${PIPESTATUS[0]}"])
def test_without_a_reader_the_exit_code_is_that_of_the_command(folder, words):
    path = folder()
    done = shell(words, path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    (path / "INCAR").write_text("ENCUT = -1\n")
    assert shell(words, path).returncode == 2


@pytest.mark.slow
def test_a_full_disk_behind_the_output_is_told(folder):
    path = folder()
    done = shell("check . > /dev/full", path)
    assert done.returncode == 2
    assert "cannot write to the standard output: No space left on device. Free some space" in done.stderr
    assert "eigenwerk-crash.txt" not in os.listdir(path)


def test_no_address_space_is_told():
    done = subprocess.run(
        ["bash", "-c", f"ulimit -v 200000; {' '.join(COLD)} check ."], capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 1 and done.stderr == (
        "Not enough memory to load what the command needs. The limit of this shell is 200000 kB (ulimit -v): raise it, "
        "or take it away.\n"
    )


@pytest.mark.slow
def test_a_folder_that_is_gone_is_told(tmp_path):
    (tmp_path / "gone").mkdir()
    command = f"cd {tmp_path}/gone; rmdir ../gone; {' '.join(COLD)} run ."
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=200)
    assert done.returncode == 2 and done.stderr.endswith(
        "The current folder is not there any more. Change to one that is (cd).\n"
    )


@pytest.mark.ranks
@pytest.mark.slow
def test_modules_of_the_current_folder_are_not_loaded(folder):
    """A folder that somebody has sent may hold numpy.py."""
    path = folder()
    for name in ("numpy", "matplotlib", "h5py", "json"):
        (path / f"{name}.py").write_text("open('loaded', 'w')\nraise SystemExit(77)\n")
    words = [*COLD, "run", ".", "--ranks", "2", "--device", "cpu"]
    done = subprocess.run(words, cwd=path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert not (path / "loaded").exists() and (path / "convergence.png").exists()
