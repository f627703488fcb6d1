"""Files that are there whole or not at all, and stretches in which several are written together.

A file is written under another name in the same folder, flushed to the disk and renamed.  Renaming within a folder is
atomic on POSIX systems, so a reader, a crash or a kill -9 finds the old file or the new one, never half of either.
Nobody can know that other name before, and nothing is ever written through a symbolic link: a link that stands in the
place of a file is replaced by the file, and what it led to stays as it is.
"""

import errno
import os
import secrets
import signal
import socket
import stat
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from types import FrameType

from eigenwerk.errors import InputError

_REMEDIES = {
    errno.EACCES: "permission denied. Make the folder writable, or choose another folder{by}",
    errno.EPERM: "permission denied. Make the folder writable, or choose another folder{by}",
    errno.EROFS: "the file system is read-only. Choose another folder{by}",
    errno.ENOSPC: "the disk is full. Free some space, or choose another folder{by}",
    errno.EDQUOT: "the disk quota is used up. Free some space, or choose another folder{by}",
    errno.EFBIG: "the file would exceed the limit on file sizes (ulimit -f). Raise it, or choose a smaller output",
    errno.ENOENT: "the folder does not exist, and nothing can be made there. Choose another folder{by}",
    errno.ENOTDIR: "a part of the path is a file, not a folder. Choose another folder{by}",
    errno.EISDIR: "a folder of this name exists. Move it away, or choose another folder{by}",
    errno.ENAMETOOLONG: "the name is too long for the file system. Choose another folder{by}",
}

BY_OPTION = " with --output"
"""How most commands take the folder that they write to; for messages."""

DEFERRED = (signal.SIGINT, signal.SIGTERM)
"""Signals that wait until files are written."""

_waiting: ContextVar[list[tuple[Path, Path]] | None] = ContextVar("files that wait for the others", default=None)
"""(temporary, target) of the files of a stretch that are whole, and not yet renamed."""


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Give a new name to write to; when the block ends without an error, it becomes `path`.

    Usage: ``with replacing(folder / "CONTCAR") as new: new.write_text(text)``.  The previous file stays as it is
    until then, and if the block fails, also after; the new one is removed.  A symbolic link is replaced, not followed.
    The new file has the permissions of the old one, or those of any new file.

    Raises InputError (with the file, the reason and a remedy) if the file cannot be written.
    """
    target = Path(os.path.realpath(Path(path).parent)) / (Path(path).name or ".")
    temporary, kept = target.parent / _temporary_name(target.name), False
    try:
        _refuse_special(target)
        _remove_abandoned(target)
        _create(temporary, target)
        yield temporary
        _flush(temporary)
        waiting = _waiting.get()
        if waiting is None:
            os.replace(temporary, target)
            _flush(target.parent)
        else:
            waiting.append((temporary, target))
            kept = True
    except OSError as error:
        if error.filename is not None and not _within(error.filename, target.parent):
            raise
        raise InputError(write_problem(path, error)) from error
    finally:
        if not kept:
            _remove(temporary)


def write_text(path: str | Path, text: str) -> None:
    """A file with this text, by `replacing`."""
    with replacing(path) as new:
        new.write_text(text, encoding="utf-8")


def make_empty(path: str | Path) -> None:
    """An empty file where there is nothing, not even a link.  Raises OSError."""
    _write_new(Path(path), b"")


@contextmanager
def together() -> Iterator[None]:
    """Files that `replacing` writes inside appear at the end, one right after the other in the order of writing.

    So a kill between two of them, which leaves a file of this set beside one of the last, has only the time of a few
    renames.  A file that failed inside is left out, whatever the block does then; the others appear.

    Raises InputError, when all has been tried, if one could not be renamed.
    """
    waiting: list[tuple[Path, Path]] = []
    before, problems = _waiting.set(waiting), []
    try:
        yield
    finally:
        _waiting.reset(before)
        for temporary, target in waiting:
            try:
                os.replace(temporary, target)
            except OSError as error:
                problems.append(write_problem(target, error))
                _remove(temporary)
        for folder in {target.parent for _, target in waiting}:
            with suppress(FileNotFoundError):
                _flush(folder)
    if problems:
        raise InputError("; ".join(problems))


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Signals that Python handles and that arrive inside are delivered at the end; only in the main thread.

    So a Ctrl-C cannot leave half of the files of an old and half of a new step.  Signals with the system's own
    action (SIGTERM, if nobody asked Python to handle it) still end the process; single files stay whole even then.
    """
    late: list[tuple[int, FrameType | None]] = []

    def note(number: int, frame: FrameType | None) -> None:
        late.append((number, frame))

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers = {number: handler for number in DEFERRED if callable(handler := signal.getsignal(number))}
    try:
        for wanted in handlers:
            signal.signal(wanted, note)
        yield
    finally:
        for wanted, handler in handlers.items():
            signal.signal(wanted, handler)
    if late:
        number, frame = late[0]
        handlers[signal.Signals(number)](number, frame)


def ensure_writable(folder: str | Path, by: str = BY_OPTION, within: str | Path | None = None) -> None:
    """Make sure, before a long run starts, that files can be written to a folder; create it if it is missing.

    Writes a small file and removes it, because permission bits say little about network and read-only file systems.
    by: as in `write_problem`; within: as in `refuse_leaving`.  Raises InputError naming the folder, the reason and a
    remedy.
    """
    refuse_file(folder, by)
    if within is not None:
        refuse_leaving(folder, within)
    probe = Path(folder) / _temporary_name("probe")
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        _write_new(probe, b"eigenwerk\n")
    except OSError as error:
        raise InputError(write_problem(folder, error, by)) from error
    finally:
        _remove(probe)


def refuse_occupied(folder: str | Path, names: Iterable[str], by: str = BY_OPTION) -> None:
    """Raise InputError, before a long run starts, where one of its files could not be written in the end: a folder, a
    pipe or a device of its name is there.  by: as in `write_problem`.
    """
    for name in names:
        try:
            _refuse_special(Path(folder) / name)
        except OSError as error:
            raise InputError(write_problem(Path(folder) / name, error, by)) from error


def refuse_leaving(folder: str | Path, within: str | Path) -> None:
    """Raise InputError for a folder of a run that a symbolic link puts somewhere else than into the run's own."""
    place, home = (Path(os.path.realpath(one)) for one in (folder, within))
    if not place.is_relative_to(home):
        raise InputError(
            f"cannot write to {folder}: a symbolic link leads from there to {place}, out of {within}. Remove the link; "
            "the folder itself may be a link."
        )


def refuse_file(folder: str | Path, by: str = BY_OPTION) -> None:
    """Raise InputError, as `ensure_writable` does, where a folder cannot be made because of a file; writes nothing."""
    if _is_other(folder):
        raise InputError(f"cannot write to {folder}: it is a file. Choose another folder{by}.")
    if any(map(_is_other, Path(folder).parents)):
        raise InputError(write_problem(folder, NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR)), by))


def _is_other(path: str | Path) -> bool:
    """Whether there is something that is no folder; False where one may not look."""
    return os.path.exists(path) and not os.path.isdir(path)


def write_problem(path: str | Path, error: OSError, by: str = BY_OPTION) -> str:
    """Sentence for the user: what cannot be written, why, and what to do.  by: how another folder is given."""
    known = _REMEDIES.get(error.errno or 0)
    reason = f"{error.strerror or error}. Choose another folder{by}" if known is None else known.format(by=by)
    return f"cannot write {path}: {reason}."


def _temporary_name(name: str) -> str:
    """A name in the same folder that tells who writes it, host and process, and that nobody can guess."""
    return f".{name}.{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}.part"


def _remove_abandoned(target: Path) -> None:
    """Remove what a killed process of this host left behind; a state of many gigabytes must not pile up."""
    prefix = f".{target.name}.{socket.gethostname()}-"
    for entry in os.listdir(target.parent):
        number = entry.removeprefix(prefix).removesuffix(".part").partition("-")[0]
        if entry.startswith(prefix) and entry.endswith(".part") and number.isdigit() and not _is_alive(int(number)):
            _remove(target.with_name(entry))


def _is_alive(process: int) -> bool:
    """Whether a process of this number runs on this machine."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _refuse_special(target: Path) -> None:
    """Raise OSError for what a file must not replace: a folder, a device, a pipe, or a link to one of the latter."""
    try:
        link, there = target.is_symlink(), target.stat()
    except OSError:  # there is nothing, or a link that leads nowhere; other reasons are met at once by the writer
        return
    if stat.S_ISDIR(there.st_mode) and not link:
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
    if not stat.S_ISREG(there.st_mode) and not stat.S_ISDIR(there.st_mode):
        raise OSError(errno.EINVAL, "a device or a pipe of this name exists", str(target))


def _create(temporary: Path, target: Path) -> None:
    """Create the empty new file, with the permissions of the old one if there is one."""
    _write_new(temporary, b"")
    with suppress(FileNotFoundError):
        old = target.lstat()
        if stat.S_ISREG(old.st_mode):
            os.chmod(temporary, old.st_mode & 0o777)


def _write_new(path: Path, data: bytes) -> None:
    """A file that is not there yet."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    try:
        os.write(descriptor, data)
    finally:
        os.close(descriptor)


def _flush(path: Path) -> None:
    """Wait until a file or a folder is on the disk, where the file system can tell."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some network file systems refuse to flush a folder; the rename itself has then been done.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EBADF) or not path.is_dir():
            raise
    finally:
        os.close(descriptor)


def _remove(path: Path) -> None:
    """Remove a file if it is there; a failure to do so must not hide the reason for which it is removed."""
    with suppress(OSError):
        path.unlink(missing_ok=True)


def _within(filename: str | bytes | int, folder: Path) -> bool:
    """Whether an error is about the folder written to, and not about something else done in the block."""
    if isinstance(filename, int):
        return False
    name = os.path.abspath(os.fsdecode(filename))
    return str(folder) in (os.path.realpath(name), os.path.realpath(os.path.dirname(name)))
