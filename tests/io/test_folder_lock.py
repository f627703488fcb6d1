"""One run per folder: the second is told who is there; what a dead run left is taken over, and said."""

import errno
import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from eigenwerk.errors import InputError
from eigenwerk.io import folder_lock
from eigenwerk.io.folder_lock import LOCK_FILE, lock_folder, refuse_locked, release_locks

HOLDER = """
import sys, time
from eigenwerk.io.folder_lock import lock_folder
lock_folder(sys.argv[1])
print("held", flush=True)
time.sleep(600)
"""


@pytest.fixture
def holder(tmp_path):
    """Another process that holds the lock."""
    process = subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.communicate()


def test_lock_is_there_while_it_is_held(tmp_path):
    lock = lock_folder(tmp_path, "abc")
    assert os.listdir(tmp_path) == [LOCK_FILE] and lock.note == ""
    assert (tmp_path / LOCK_FILE).stat().st_mode & 0o777 == 0o600
    words = json.loads((tmp_path / LOCK_FILE).read_text())
    assert words["process"] == os.getpid() and words["host"] == socket.gethostname() and words["run"] == "abc"
    lock.release()
    lock.release()
    assert os.listdir(tmp_path) == []


def test_second_run_is_told_who_is_there(holder, tmp_path):
    for attempt in (lock_folder, refuse_locked):
        with pytest.raises(InputError, match=rf"in use by a run of .*process {holder.pid} on .*--output"):
            attempt(tmp_path)
    assert os.listdir(tmp_path) == [LOCK_FILE]


def test_another_thread_of_the_same_process_is_refused(tmp_path):
    lock_folder(tmp_path)
    with pytest.raises(InputError, match=f"process {os.getpid()}"):
        lock_folder(tmp_path)
    release_locks()
    lock_folder(tmp_path).release()


def test_lock_of_a_killed_run_is_taken_over_and_said(holder, tmp_path):
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    refuse_locked(tmp_path)
    lock = lock_folder(tmp_path)
    assert f"process {holder.pid} on" in lock.note and "ended without a word" in lock.note
    lock.release()


def test_many_threads_may_release_it(tmp_path):
    """A descriptor that is closed twice may be another file's by then."""
    for _ in range(20):
        lock, errors = lock_folder(tmp_path), []
        start = threading.Barrier(4)

        def release(lock=lock, start=start, errors=errors):
            start.wait()
            try:
                lock.release()
            except OSError as error:
                errors.append(error)

        threads = [threading.Thread(target=release) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not errors and os.listdir(tmp_path) == []


def _left(folder, **changes):
    (folder / LOCK_FILE).write_text(json.dumps(folder_lock._own_words("") | changes))


def test_lock_of_another_machine_is_left_alone(tmp_path):
    _left(tmp_path, host="node8", boot="another")
    with pytest.raises(InputError, match=rf"on node8, since .* cannot be seen from here .*remove .*{LOCK_FILE}"):
        lock_folder(tmp_path)
    assert (tmp_path / LOCK_FILE).exists()


def test_lock_from_before_the_last_start_of_this_machine_is_taken_over(tmp_path):
    _left(tmp_path, boot="an earlier one")
    lock = lock_folder(tmp_path)
    assert lock.note
    lock.release()


@pytest.mark.parametrize(("changes", "taken"), [({}, False), ({"born": "1"}, True), ({"process": 2**22 + 1}, True)])
def test_without_locks_of_the_file_system_the_words_decide(tmp_path, monkeypatch, changes, taken):
    def none(descriptor, how):
        raise OSError(errno.ENOLCK, "no locks available")

    monkeypatch.setattr(fcntl, "flock", none)
    _left(tmp_path, **changes)
    if taken:
        lock_folder(tmp_path).release()
    else:
        with pytest.raises(InputError, match="in use"):
            lock_folder(tmp_path)


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"user": 1}', "\0" * 9000])
def test_words_that_nobody_understands_do_no_harm(tmp_path, text):
    (tmp_path / LOCK_FILE).write_text(text)
    lock_folder(tmp_path).release()


def test_what_is_no_plain_file_is_not_opened(tmp_path):
    (tmp_path / LOCK_FILE).symlink_to("/etc/passwd")
    with pytest.raises(InputError, match="no file of eigenwerk"):
        lock_folder(tmp_path)
    (tmp_path / LOCK_FILE).unlink()
    os.mkfifo(tmp_path / LOCK_FILE)
    with pytest.raises(InputError, match="in use, or was left so"):
        lock_folder(tmp_path)


INTRUDER = """
import fcntl, os, sys
from pathlib import Path
path = Path(sys.argv[1])
os.setgid(65534), os.setuid(65534)
attempts = {
    "read": lambda: path.read_text(), "write": lambda: path.write_text(""), "remove": lambda: path.unlink(),
    "lock": lambda: fcntl.flock(os.open(path, os.O_RDONLY), fcntl.LOCK_EX | fcntl.LOCK_NB),
}
for name, attempt in attempts.items():
    try:
        attempt()
    except PermissionError:
        continue
    print(name)
"""


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
def test_another_user_can_do_nothing_with_it():
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        lock = lock_folder(folder)
        command = [sys.executable, "-c", INTRUDER, str(lock.path)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd="/")
        assert done.stdout == "", done.stdout
        lock.release()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can make a file of another user")
def test_file_of_another_user_is_not_trusted(tmp_path):
    _left(tmp_path)
    os.chown(tmp_path / LOCK_FILE, 65534, 65534)
    with pytest.raises(InputError, match=r"belongs to nobody, .*choose another folder"):
        lock_folder(Path(tmp_path))


@pytest.mark.parametrize("words", ["[" * 4000, "{" * 4000, "\0", "null", "[1, 2]", '{"user": 1}', "9" * 4000])
def test_words_that_say_nothing_are_no_owner(tmp_path, words):
    (tmp_path / LOCK_FILE).write_text(words)
    lock = lock_folder(tmp_path)
    assert lock.note == ""
    lock.release()
