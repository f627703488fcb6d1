"""Compiled kernels and plans of FFTs, kept on the disk for the next process: $XDG_CACHE_HOME/eigenwerk/kernels.

A file is named by the SHA-256 of all that decides what is compiled, and begins with that of its content.  One that
cannot be read, or whose content is not what was written, counts as absent; then the kernel is compiled and written
again.  A folder that cannot be written to is no error: it only costs the time of compiling each time.
"""

import os
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
    except RuntimeError:  # a user without a home
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


def _read(path: Path) -> bytes | None:
    """The content of a file, None if there is none or if it was damaged."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    digest, binary = data[:32], data[32:]
    return binary if sha256(binary).digest() == digest else None


def _write(path: Path, binary: bytes) -> None:
    """Under another name first: ranks that compile the same at once each put a whole file in place."""
    with suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".new-")
        try:
            with os.fdopen(descriptor, "wb") as new:
                new.write(sha256(binary).digest() + binary)
            os.replace(name, path)
        except OSError:
            os.unlink(name)
            raise
