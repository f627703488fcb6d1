"""A series has its folder to itself, and ends by SIGTERM in words."""

import json
import os
import signal
import time

import pytest

from eigenwerk.cli.main import main
from eigenwerk.cli.series.words import SignalReceived, own_folder
from eigenwerk.errors import InputError
from eigenwerk.io.folder_lock import lock_folder
from running import EIGENWERK, Run


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_what_is_inside_and_the_lock(tmp_path, number):
    before = signal.signal(number, signal.SIG_DFL)
    try:
        with pytest.raises(SignalReceived, match=f"Stopped by {number.name}") as caught, own_folder(tmp_path, print):
            with pytest.raises(InputError, match="is in use"):
                lock_folder(tmp_path)
            os.kill(os.getpid(), number)
            time.sleep(10)
        assert caught.value.exit_code == 128 + number and os.listdir(tmp_path) == []
        assert signal.getsignal(number) == signal.SIG_DFL
    finally:
        signal.signal(number, before)


def test_what_a_dead_series_left_is_taken_over_and_said(tmp_path):
    lock_folder(tmp_path)
    words = json.loads((tmp_path / "eigenwerk.lock").read_text()) | {"process": 2**22 + 1}
    (tmp_path / "eigenwerk.lock").unlink()
    (tmp_path / "eigenwerk.lock").write_text(json.dumps(words))
    said = []
    with own_folder(tmp_path, said.append):
        pass
    assert "ended without a word" in said[0]


@pytest.mark.fast("relax", "eos")
@pytest.mark.parametrize("command", ["converge", "eos", "relax"])
def test_two_in_one_folder_are_refused(folder, capsys, command):
    (folder / "o").mkdir()
    lock = lock_folder(folder / "o")
    try:
        assert main([command, str(folder), "-o", str(folder / "o")]) == 2
    finally:
        lock.release()
    assert "is in use by a run" in capsys.readouterr().err and os.listdir(folder / "o") == []


@pytest.mark.slow
def test_a_series_that_is_stopped_keeps_its_points(folder):
    run = Run(*EIGENWERK, "eos", str(folder), "--points", "30")
    for line in run.process.stdout:
        run.lines.append(line)
        if line.rstrip().endswith("the neighbour's state"):
            break
    run.process.send_signal(signal.SIGTERM)
    code, out, error = run.end()
    assert code == 128 + signal.SIGTERM and "Stopped by SIGTERM." in error and "Traceback" not in error
    assert "kept in" in out and not (folder / "eigenwerk.lock").exists()
    document = json.loads((folder / "eos.json").read_text())
    assert document["interrupted"] and document["points"]
