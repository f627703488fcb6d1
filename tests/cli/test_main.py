"""The command line returns the promised exit codes and never shows a traceback."""

import subprocess
import sys

import pytest
import typer

from eigenwerk import __version__
from eigenwerk.cli import crash
from eigenwerk.cli import main as door
from eigenwerk.errors import ConvergenceError, EigenwerkError, InputError


@pytest.fixture
def raising(monkeypatch, tmp_path):
    """The door with one sub-command, `fail`, that raises what it is given; run in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def run(error):
        app = typer.Typer(pretty_exceptions_enable=False)

        @app.callback()
        def nothing():
            pass

        @app.command()
        def fail():
            raise error

        monkeypatch.setattr(door, "app", app)
        return door.main(["fail"])

    return run


@pytest.mark.parametrize(("kind", "code"), [(EigenwerkError, 1), (InputError, 2), (ConvergenceError, 3)])
def test_own_errors_become_a_plain_message_and_their_exit_code(raising, capsys, tmp_path, kind, code):
    assert raising(kind("INCAR line 7: no such thing")) == code
    streams = capsys.readouterr()
    assert streams.err == "INCAR line 7: no such thing\n"  # no colour codes: not a terminal
    assert streams.out == ""
    assert not list(tmp_path.iterdir())


def test_interruption_is_130(raising, capsys):
    assert raising(KeyboardInterrupt()) == 130
    assert "Traceback" not in capsys.readouterr().err


def test_a_fault_of_the_program_writes_a_file_and_says_where(raising, capsys, tmp_path):
    assert raising(ZeroDivisionError("float division by zero")) == 1
    message = capsys.readouterr().err
    path = tmp_path / "eigenwerk-crash.txt"
    assert str(path) in message and "ZeroDivisionError" in message and "Traceback" not in message
    report = path.read_text()
    assert "Traceback" in report and "ZeroDivisionError" in report and __version__ in report
    assert "eigenwerk fail" in report


def test_a_fault_in_a_read_only_folder_writes_to_the_temporary_one(raising, capsys, monkeypatch, tmp_path):
    other = tmp_path / "temporary"
    other.mkdir()
    monkeypatch.setattr(crash.tempfile, "tempdir", str(other))
    (tmp_path / "eigenwerk-crash.txt").mkdir()  # as good as read-only, also for root
    assert raising(ZeroDivisionError("x")) == 1
    (report,) = other.iterdir()  # under a name that nobody can foresee
    assert str(report) in capsys.readouterr().err and report.stat().st_mode & 0o777 == 0o600
    assert "Traceback" in report.read_text()


def test_a_fault_with_nowhere_to_write_shows_the_details(raising, capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(crash.tempfile, "tempdir", str(tmp_path / "missing"))
    (tmp_path / "eigenwerk-crash.txt").mkdir()
    assert raising(ZeroDivisionError("x")) == 1
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["no-such-command"], ["--no-such-option"]])
def test_wrong_words_are_bad_input(arguments, capsys):
    assert door.main(arguments) == 2
    assert arguments[0] in capsys.readouterr().err


def test_the_exit_code_a_command_asks_for_is_returned(raising):
    assert raising(typer.Exit(3)) == 3


@pytest.mark.slow
@pytest.mark.ci
def test_version_from_a_shell():
    shown = subprocess.run([sys.executable, "-m", "eigenwerk.cli.main", "--version"], capture_output=True, text=True)
    assert (shown.returncode, shown.stdout, shown.stderr) == (0, f"eigenwerk {__version__}\n", "")


@pytest.mark.slow
@pytest.mark.fast("torch-at once")
@pytest.mark.parametrize(("loaded", "how"), [("torch", "at once"), ("mpi4py.MPI", "in order"), ("json", "in order")])
def test_process_ends_at_once_if_only_pytorch_would_be_taken_apart(loaded, how, capfd):
    script = (
        "import atexit, sys\nfrom eigenwerk.cli import main\natexit.register(print, 'in order')\n"
        f"sys.modules['torch'] = sys\nsys.modules[{loaded!r}] = sys\n"
        "if 'json' in sys.argv: del sys.modules['torch']\n"
        "main.main = lambda: print('done') or 3\nmain.command()"
    )
    done = subprocess.run([sys.executable, "-c", script, loaded], capture_output=True, text=True)
    assert done.returncode == 3 and not done.stderr
    assert done.stdout.split("\n") == (["done", ""] if how == "at once" else ["done", "in order", ""])


EARLY = """
import sys

class Impatient:
    def find_spec(self, name, path, target=None):
        if name == "typer":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Impatient())
from eigenwerk.cli.entry import command
command()
"""


def test_ctrl_c_while_the_command_is_loaded_shows_no_traceback():
    done = subprocess.run([sys.executable, "-c", EARLY], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "Interrupted.\n")
