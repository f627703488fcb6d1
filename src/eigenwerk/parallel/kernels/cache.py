"""Compiled kernels and plans of FFTs, kept on the disk for the next process: $XDG_CACHE_HOME/eigenwerk/kernels.

A file is named by the SHA-256 of all that decides what is compiled, and begins with that of its content.  One that
cannot be read, or whose content is not what was written, counts as absent; then the kernel is compiled and written
again.  A folder that cannot be written to is no error: it only costs the time of compiling each time.

What lies there is executed.  So a file or folder of another owner, or one that others may change, is not used.
"""

import os
import stat
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path


def cache_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Where kernels are kept; by the XDG rules a relative path in XDG_CACHE_HOME does not count."""
    wanted = Path(environ.get("XDG_CACHE_HOME", ""))
    return (wanted if wanted.is_absolute() else Path.home() / ".cache") / "eigenwerk" / "kernels"


def cached(description: tuple[str, ...], compile_it: Callable[[], bytes], folder: Path | None = None) -> bytes:
    """What `compile_it` returns, from the disk if it was compiled before.

    description: everything the result depends on: source, options, architecture, version of the compiler.
    """
    # lengths keep ("ab", "c") and ("a", "bc") apart
    key = sha256("".join(f"{len(part)}:{part}" for part in description).encode()).hexdigest()
    try:
        path = (folder or cache_folder()) / key
        changeable = _open_to_others(path.parent)
    except (RuntimeError, OSError):  # a user without a home
        return compile_it()
    if changeable is not None:
        _tell_once(changeable)
        return compile_it()
    binary = _read(path)
    if binary is None:
        binary = compile_it()
        _write(path, binary)
    return binary


@cache
def processor() -> str:
    """What distinguishes kinds of processors, as Linux tells it; elsewhere all count as one."""
    kind = ("vendor_id", "cpu family", "model", "cache size", "flags")
    told_by_linux = Path("/proc/cpuinfo")
    lines = told_by_linux.read_text().split("\n\n")[0].splitlines() if told_by_linux.exists() else []
    return "\n".join(line for line in lines if line.startswith(kind))


def _open_to_others(folder: Path) -> Path | None:
    """The folder, if it is another user's; it or the first one above it in which others may change names; or None.

    In a sticky folder, as /tmp, others cannot change what is not theirs.
    """
    folder = Path(os.path.realpath(folder))
    for one in (folder, *folder.parents):
        if not one.exists():
            continue
        mode = one.stat().st_mode
        if one == folder and one.stat().st_uid != os.getuid():
            return one
        if mode & (stat.S_IWGRP | stat.S_IWOTH) and (one == folder or not mode & stat.S_ISVTX):
            return one
    return None


@cache
def _tell_once(path: Path) -> None:
    words = f"{path} belongs to another user, or others may write there, so compiled kernels are not kept in it"
    remedy = "Each run compiles them anew. chmod go-w helps, or XDG_CACHE_HOME with a folder of your own."
    print(f"{words}. {remedy}", file=sys.stderr, flush=True)


def _read(path: Path) -> bytes | None:
    """The content of a file; None if there is none, if it was damaged, or if another user could have written it."""
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            found = os.fstat(file.fileno())
            mine = stat.S_ISREG(found.st_mode) and found.st_uid == os.getuid()
            if not mine or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                return None
            data = file.read()
    except OSError:
        return None
    digest, binary = data[:32], data[32:]
    return binary if sha256(binary).digest() == digest else None


def _write(path: Path, binary: bytes) -> None:
    """Under another name first: ranks that compile the same at once each put a whole file in place."""
    with suppress(OSError):
        for one in reversed([path.parent, *path.parent.parents]):
            one.mkdir(mode=0o700, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".new-")
        try:
            with os.fdopen(descriptor, "wb") as new:
                new.write(sha256(binary).digest() + binary)
            os.replace(name, path)
        except OSError:
            os.unlink(name)
            raise
