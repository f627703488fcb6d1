"""A file written by `replacing` is there whole or not at all, and failures say what to do."""

import errno
import os
import shutil
import signal
import subprocess
import sys
import textwrap

import pytest

from eigenwerk.errors import InputError
from eigenwerk.io import atomic_write
from eigenwerk.io.atomic_write import ensure_writable, refuse_file, replacing, together, uninterrupted


def test_file_appears_whole_and_nothing_else_stays(tmp_path):
    with replacing(tmp_path / "OSZICAR") as new:
        new.write_text("first")
        assert new.parent == tmp_path and not (tmp_path / "OSZICAR").exists()
    assert (tmp_path / "OSZICAR").read_text() == "first" and os.listdir(tmp_path) == ["OSZICAR"]


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt])
def test_failure_leaves_the_old_file_and_nothing_new(tmp_path, failure):
    (tmp_path / "state").write_text("old")
    with pytest.raises(failure), replacing(tmp_path / "state") as new:
        new.write_text("half")
        raise failure
    assert (tmp_path / "state").read_text() == "old" and os.listdir(tmp_path) == ["state"]


def test_permissions_are_kept_or_follow_the_umask(tmp_path):
    (tmp_path / "old").write_text("")
    (tmp_path / "old").chmod(0o640)
    before = os.umask(0o027)
    try:
        for name in ("old", "new"):
            with replacing(tmp_path / name) as new:
                new.write_text("x")
    finally:
        os.umask(before)
    assert [(tmp_path / n).stat().st_mode & 0o777 for n in ("old", "new")] == [0o640, 0o640]


@pytest.mark.parametrize("end", ["far.txt", "nowhere", "folder", "CONTCAR"])
def test_a_link_is_replaced_and_what_it_leads_to_stays(tmp_path, end):
    """CONTCAR -> ~/.bashrc in a folder that somebody has sent; a link to itself has no end."""
    (tmp_path / "run").mkdir()
    (tmp_path / "folder").mkdir()
    (tmp_path / "far.txt").write_text("mine")
    target = tmp_path / "run" / "CONTCAR"
    target.symlink_to(target if end == "CONTCAR" else tmp_path / end)
    with replacing(target) as new:
        new.write_text("x")
    assert not target.is_symlink() and target.read_text() == "x" and os.listdir(tmp_path / "run") == ["CONTCAR"]
    assert (tmp_path / "far.txt").read_text() == "mine" and sorted(os.listdir(tmp_path)) == ["far.txt", "folder", "run"]
    assert os.listdir(tmp_path / "folder") == []


def test_the_folder_that_somebody_names_may_be_a_link(tmp_path):
    (tmp_path / "scratch").mkdir()
    (tmp_path / "run").symlink_to(tmp_path / "scratch")
    with replacing(tmp_path / "run" / "OUTCAR") as new:
        new.write_text("x")
    assert (tmp_path / "scratch" / "OUTCAR").read_text() == "x"
    ensure_writable(tmp_path / "run" / "00", within=tmp_path / "run")
    (tmp_path / "run" / "01").symlink_to(tmp_path)
    with pytest.raises(InputError, match=r"01: a symbolic link leads from there to .*, out of .*run\. Remove the link"):
        ensure_writable(tmp_path / "run" / "01", within=tmp_path / "run")


def test_devices_and_pipes_are_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "null").symlink_to("/dev/null")
    for name in ("pipe", "null"):
        with pytest.raises(InputError, match="a device or a pipe of this name exists"), replacing(tmp_path / name):
            pass
    assert sorted(os.listdir(tmp_path)) == ["null", "pipe"]


def test_nobody_can_wait_for_the_temporary_file(tmp_path, monkeypatch):
    """Names differ each time, and where one is taken all the same, nothing is written through it."""
    assert atomic_write._temporary_name("a") != atomic_write._temporary_name("a")
    (tmp_path / "mine").write_text("mine")
    monkeypatch.setattr(atomic_write.secrets, "token_hex", lambda count: "0" * count)
    (tmp_path / atomic_write._temporary_name("OUTCAR")).symlink_to(tmp_path / "mine")
    with pytest.raises(InputError, match="cannot write"), replacing(tmp_path / "OUTCAR") as new:
        new.write_text("x")
    assert (tmp_path / "mine").read_text() == "mine"


def test_killed_writer_leaves_the_old_file_and_its_rest_is_removed_next_time(tmp_path):
    (tmp_path / "state").write_text("old")
    program = """
        import os, signal, sys
        from eigenwerk.io.atomic_write import replacing
        with replacing(sys.argv[1]) as new:
            new.write_text("half")
            os.kill(os.getpid(), signal.SIGKILL)
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(program), str(tmp_path / "state")], check=False)
    assert (tmp_path / "state").read_text() == "old" and len(os.listdir(tmp_path)) == 2
    with replacing(tmp_path / "state") as new:
        new.write_text("next")
    assert (tmp_path / "state").read_text() == "next" and os.listdir(tmp_path) == ["state"]


def test_rest_of_a_running_writer_is_left_alone(tmp_path):
    name = atomic_write._temporary_name("state").replace(f"-{os.getpid()}-", f"-{os.getppid()}-")
    (tmp_path / name).write_text("being written")
    with replacing(tmp_path / "state") as new:
        new.write_text("x")
    assert (tmp_path / name).exists()


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.EACCES, "permission denied"),
        (errno.EROFS, "read-only"),
        (errno.ENOSPC, "disk is full"),
        (errno.EDQUOT, "quota"),
    ],
)
def test_refusals_of_the_system_name_file_reason_and_remedy(tmp_path, monkeypatch, number, words):
    """The tests may run as a user whom nothing is denied, so the answers of the system are made up."""

    def refuse(path, *args, **keywords):
        raise OSError(number, os.strerror(number), str(path))

    monkeypatch.setattr(atomic_write.os, "open", refuse)
    with pytest.raises(InputError, match=words) as caught, replacing(tmp_path / "vasprun.xml"):
        pass
    message = str(caught.value)
    assert message.startswith(f"cannot write {tmp_path / 'vasprun.xml'}: ") and "--output" in message
    assert os.listdir(tmp_path) == []


def test_disk_that_fills_up_while_writing(tmp_path):
    """A true failure in the middle of a file, by a limit on file sizes."""
    (tmp_path / "state").write_text("old")
    program = """
        import resource, signal, sys
        from eigenwerk.errors import InputError
        from eigenwerk.io.atomic_write import replacing
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (10000, 10000))
        try:
            with replacing(sys.argv[1]) as new:
                new.write_text("x" * 100000)
        except InputError as error:
            print(error)
    """
    command = [sys.executable, "-c", textwrap.dedent(program), str(tmp_path / "state")]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "limit on file sizes" in run.stdout
    assert (tmp_path / "state").read_text() == "old" and os.listdir(tmp_path) == ["state"]


def test_names_that_cannot_be_files(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("")
    for path, words in [
        (tmp_path / "nowhere" / "x", "does not exist"),
        (tmp_path / "file" / "x", "is a file"),
        (tmp_path / "folder", "a folder of this name"),
        (tmp_path / ("x" * 300), "too long"),
    ]:
        with pytest.raises(InputError, match=words), replacing(path) as new:
            new.write_text("x")
    assert sorted(os.listdir(tmp_path)) == ["file", "folder"]


def test_errors_about_other_files_are_not_blamed_on_this_one(tmp_path):
    with pytest.raises(FileNotFoundError), replacing(tmp_path / "x"):
        os.stat("/nowhere/else/input")
    assert os.listdir(tmp_path) == []


def test_ensure_writable_makes_the_folder_and_leaves_it_empty(tmp_path):
    ensure_writable(tmp_path / "a" / "b")
    assert os.listdir(tmp_path / "a" / "b") == []


def test_ensure_writable_refuses_files_and_read_only_folders(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="it is a file"):
        ensure_writable(tmp_path / "file")

    def refuse(path, *args, **keywords):
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(atomic_write.os, "open", refuse)
    with pytest.raises(InputError, match=r"permission denied\. Make the folder writable"):
        ensure_writable(tmp_path)


def test_refuse_file_says_the_same_and_makes_nothing(tmp_path):
    (tmp_path / "file").write_text("")
    refuse_file(tmp_path / "a" / "b")
    for name in ("file", "file/a", "file/a/b"):
        with pytest.raises(InputError) as found:
            refuse_file(tmp_path / name)
        with pytest.raises(InputError) as expected:
            ensure_writable(tmp_path / name)
        assert str(found.value) == str(expected.value)
    assert os.listdir(tmp_path) == ["file"]


def test_really_read_only_folder(tmp_path, monkeypatch):
    """Nothing is denied to root, so root becomes nobody for the length of this test."""
    tmp_path.chmod(0o555)
    user = os.geteuid()
    monkeypatch.chdir(tmp_path)  # pytest's folders above are closed to nobody
    try:
        if user == 0:
            os.seteuid(65534)
        with pytest.raises(InputError, match=r"cannot write \.: permission denied"):
            ensure_writable(".")
        with pytest.raises(InputError, match=r"cannot write vasprun\.xml: permission denied"), replacing("vasprun.xml"):
            pass
    finally:
        os.seteuid(user)
        tmp_path.chmod(0o700)
    assert os.listdir(tmp_path) == []


def test_signals_wait_until_the_files_are_written():
    seen = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: seen.append(number))
    try:
        with uninterrupted():
            os.kill(os.getpid(), signal.SIGTERM)
            os.kill(os.getpid(), signal.SIGTERM)
            assert seen == []
        assert seen == [signal.SIGTERM]
        os.kill(os.getpid(), signal.SIGTERM)
        assert seen == [signal.SIGTERM] * 2, "the handler is back in its place"
    finally:
        signal.signal(signal.SIGTERM, before)


def test_files_of_a_stretch_appear_together_and_one_that_fails_costs_no_other(tmp_path):
    (tmp_path / "a").write_text("old")
    with together():
        for name in "ab":
            with replacing(tmp_path / name) as new:
                new.write_text("new")
        with pytest.raises(ValueError), replacing(tmp_path / "c") as new:
            raise ValueError
        assert (tmp_path / "a").read_text() == "old" and not (tmp_path / "b").exists()
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]
    assert {(tmp_path / name).read_text() for name in "ab"} == {"new"}


def test_a_folder_that_vanishes_within_a_stretch_is_an_input_error(tmp_path):
    (tmp_path / "x").mkdir()
    with pytest.raises(InputError, match="the folder does not exist"), together():
        with replacing(tmp_path / "x" / "a") as new:
            new.write_text("new")
        shutil.rmtree(tmp_path / "x")
