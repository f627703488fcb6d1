"""One run per folder: a file that says who writes there.

The system's own lock on the file (flock) decides, because it ends with the process that holds it, however that ends;
the words in the file tell others who it is.  Where a file system knows no such locks, and for runs on other machines,
the words decide.  Nobody but its owner can open the file, so nobody else can hold a run up by it.
"""

import errno
import fcntl
import json
import os
import pwd
import socket
import stat
import threading
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from eigenwerk.errors import InputError
from eigenwerk.io.atomic_write import write_problem

LOCK_FILE = "eigenwerk.lock"

ATTEMPTS = 5
"""How often a file is opened anew that its owner has removed just then."""

NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EINVAL)
"""What file systems say that know no locks."""

_BOOT = Path("/proc/sys/kernel/random/boot_id")


@dataclass(eq=False)
class FolderLock:
    """The right to write to a folder, until `release` or the end of the process.

    note: that the lock of a run which is gone has been taken over, in words, or empty.
    """

    path: Path
    note: str = ""
    _descriptor: int = -1

    def release(self) -> None:
        """Give it back, and remove the file if it is still the one; a second time nothing happens."""
        with _one_at_a_time:  # a watchdog may end the process while the computation ends by itself
            if self._descriptor < 0:
                return
            _held.discard(self)
            with suppress(OSError):
                if _same_file(self.path, self._descriptor):
                    self.path.unlink()
            os.close(self._descriptor)
            self._descriptor = -1


_one_at_a_time = threading.Lock()

_held: set[FolderLock] = set()


def release_locks() -> None:
    """All that this process holds: for one that ends at once."""
    for lock in tuple(_held):
        lock.release()


def lock_folder(folder: str | Path, run: str = "") -> FolderLock:
    """Take the lock of a folder that exists.  run: what the run is called, for the words in the file.

    Raises InputError, with the owner and the remedy, if another run writes there, or may write there from another
    machine; InputError if the file cannot be written.
    """
    path = Path(folder) / LOCK_FILE
    for _ in range(ATTEMPTS):
        try:
            descriptor = _open(path, os.O_RDWR | os.O_CREAT)
        except OSError as error:
            raise InputError(write_problem(path, error)) from error
        try:
            note = _take(path, descriptor)
            if note is not None:
                os.ftruncate(descriptor, 0)
                os.pwrite(descriptor, json.dumps(_own_words(run)).encode(), 0)
                lock = FolderLock(path, note, descriptor)
                _held.add(lock)
                return lock
        except OSError as error:
            os.close(descriptor)
            raise InputError(write_problem(path, error)) from error
        except InputError:
            os.close(descriptor)
            raise
        os.close(descriptor)
    raise InputError(f"{path} comes and goes. Look which runs write there, or choose another folder.")


def refuse_locked(folder: str | Path) -> None:
    """Raise the same InputError without taking the lock, for a process whose child is going to."""
    path = Path(folder) / LOCK_FILE
    if not path.is_file():
        return
    try:
        descriptor = _open(path, os.O_RDWR)
    except FileNotFoundError:
        return
    try:
        _take(path, descriptor)
    finally:
        os.close(descriptor)


def _open(path: Path, flags: int) -> int:
    """The lock file, which must be a plain one of this user's."""
    try:
        descriptor = os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
    except PermissionError:
        if not os.path.lexists(path):
            raise
        raise _foreign(path, os.lstat(path)) from None
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO, errno.EISDIR):
            raise InputError(f"{path} is no file of eigenwerk. Remove it, or choose another folder.") from None
        raise
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
        os.close(descriptor)
        raise _foreign(path, found)
    return descriptor


def _foreign(path: Path, found: os.stat_result) -> InputError:
    began = datetime.fromtimestamp(found.st_mtime).isoformat(" ", "minutes")
    return InputError(
        f"{path.parent} is in use, or was left so: {path.name} there belongs to {_user(found.st_uid)}, of {began}. Ask "
        "them, or choose another folder."
    )


def _take(path: Path, descriptor: int) -> str | None:
    """The words of `FolderLock.note` if the lock is ours; None if the file has been removed meanwhile."""
    locks = True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise InputError(_busy(path, _words(descriptor))) from None
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise
        locks = False
    if not _same_file(path, descriptor):
        return None
    words = _words(descriptor)
    if not words:
        return ""
    here = words["boot"] == _boot() != "" or words["host"] == socket.gethostname()
    if not here:
        raise InputError(
            f"{_busy(path, words)} Whether it still runs cannot be seen from here ({socket.gethostname()}). If it does "
            f"not, remove {path}."
        )
    if not locks and words["boot"] == _boot() and _lives(words["process"], words["born"]):
        raise InputError(_busy(path, words))
    return (
        f"taking over {path.parent}: the run of {words['user']} that began {words['began']} (process "
        f"{words['process']} on {words['host']}) ended without a word"
    )


def _busy(path: Path, words: dict[str, Any]) -> str:
    who = "another run"
    if words:
        who = f"a run of {words['user']}, process {words['process']} on {words['host']}, since {words['began']}"
    return (
        f"{path.parent} is in use by {who}: two runs in one folder would overwrite each other. Wait for it, or choose "
        "another folder with --output."
    )


def _own_words(run: str) -> dict[str, Any]:
    """What the file says: owner, host, process; boot and born: of this start of the machine, and of the process."""
    return {
        "user": _user(os.geteuid()), "host": socket.gethostname(), "boot": _boot(), "process": os.getpid(),
        "born": _born(os.getpid()), "began": datetime.now().isoformat(" ", "seconds"), "run": run,
    }  # fmt: skip


def _words(descriptor: int) -> dict[str, Any]:
    """What the file says; empty where it says nothing that can be understood."""
    try:
        words = json.loads(os.pread(descriptor, 4096, 0))
    except (ValueError, RecursionError):
        return {}
    kinds = {"user": str, "host": str, "boot": str, "process": int, "born": str, "began": str}
    whole = isinstance(words, dict) and all(isinstance(words.get(name), kind) for name, kind in kinds.items())
    return words if whole else {}


def _same_file(path: Path, descriptor: int) -> bool:
    """Whether a path still leads to an open file."""
    try:
        there = os.lstat(path)
    except FileNotFoundError:
        return False
    return os.path.samestat(there, os.fstat(descriptor))


def _user(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"user {number}"


def _boot() -> str:
    """This start of this machine; containers of one machine share it."""
    try:
        return _BOOT.read_text().strip()
    except OSError:
        return ""


def _born(process: int) -> str:
    """When a process began, in ticks of the machine: its number may be another one's by now."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def _lives(process: int, born: str) -> bool:
    return bool(born) and _born(process) == born
