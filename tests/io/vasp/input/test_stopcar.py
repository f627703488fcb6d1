"""STOPCAR as people write it, and when it counts."""

import os

import pytest

from eigenwerk.io.vasp.input.stopcar import StopFiles, parse_stopcar


@pytest.mark.parametrize(("text", "switches"), [
    ("LABORT = .TRUE.", {"LABORT"}),
    (" lstop=T ! soon", {"LSTOP"}),
    ("LSTOP = .TRUE.; LABORT = .true.\r\n", {"LSTOP", "LABORT"}),
    ("LABORT = .TRUE.\nLABORT = .FALSE.\n", set()),
    ("# LABORT = .TRUE.", set()),
    ("LABORT", set()),
    ("LABORT = 1\0", set()),
    ("", set()),
])  # fmt: skip
def test_switches(text, switches):
    assert parse_stopcar(text) == switches


def test_only_what_is_written_during_a_run_counts(tmp_path):
    (tmp_path / "STOPCAR").write_text("LABORT = .TRUE.")
    files = StopFiles([tmp_path, tmp_path])
    assert files.old == [tmp_path / "STOPCAR"] and not files.switches()
    os.utime(tmp_path / "STOPCAR", ns=(1, 1))  # as `touch` does
    assert files.switches() == {"LABORT"}
    (tmp_path / "STOPCAR").unlink()
    assert not files.switches()
    os.mkfifo(tmp_path / "STOPCAR")
    assert not files.switches(), "never waits for a writer"
