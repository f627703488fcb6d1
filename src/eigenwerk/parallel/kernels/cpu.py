"""C sources compiled at run time by gcc, once for all processes of a kind of processor, for loops over points.

gcc turns such a loop into vector instructions, with glibc's vector functions in place of exp, log, cbrt, expm1 and
log1p.  Without gcc on the PATH, on other processors than x86-64 and without such functions there are no kernels:
callers have operations of PyTorch for that case.
"""

import ctypes
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path
from threading import Lock

from eigenwerk.parallel.kernels.cache import cached, processor
from eigenwerk.parallel.launch.secret import temporary_folder

FLAGS = (
    "-O3", "-march=native", "-mprefer-vector-width=512", "-fopenmp-simd", "-fno-math-errno", "-fno-trapping-math",
    "-fno-signed-zeros", "-shared", "-fPIC", "-Wl,-z,defs",
)  # fmt: skip
"""Operations keep their order and numbers that are none stay so: no -ffast-math."""

LIBRARIES = ("-lmvec", "-lm")

COMPILING_SECONDS = 60
"""Longest for one source."""

VECTOR_FUNCTIONS = (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "cbrt", "sin", "cos", "tan", "asinh", "atan", "sinh",
    "cosh", "tanh", "erf", "erfc",
)  # fmt: skip
"""Those of glibc 2.35 that programs may call; a source needs only what it calls."""

PRELUDE = "\n".join([
    "#if !defined(__x86_64__) || defined(__clang__)", "#error gcc and an x86-64 processor are needed", "#endif",
    *(f'double {name}(double) __attribute__((simd("notinbranch"), const));' for name in VECTOR_FUNCTIONS),
    "double sqrt(double);", "double fabs(double);", "double pow(double, double);", "",
])  # fmt: skip
"""Declarations by which gcc takes the vector forms; those of glibc's math.h say so only with -ffast-math."""

_COMPILING = Lock()

LIBRARY_BYTES = 200_000
"""More than gcc writes for one kernel."""

Kernel = Callable[..., None]
"""A function of C that takes addresses and integers of 64 bits."""


def kernel(source: str, name: str) -> Kernel | None:
    """The function of a source, which begins with PRELUDE; None where it cannot be compiled."""
    with _COMPILING:
        library = _library(source)
    return None if library is None else _function(library, name)


@cache
def compiler() -> str | None:
    """What `gcc --version` says first; None without gcc."""
    path = shutil.which("gcc")
    if path is None:
        return None
    told = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout
    return told.partition("\n")[0] or None


@cache
def _library(source: str) -> ctypes.CDLL | None:
    version = compiler()
    if version is None:
        return None
    try:
        binary = cached((source, *FLAGS, *LIBRARIES, version, processor()), lambda: _compiled(source))
        return _loaded(binary) if binary else None
    except (subprocess.TimeoutExpired, OSError):  # a full disk, say: tells nothing about the next time, and is not kept
        return None


def _compiled(source: str) -> bytes:
    """The shared library; nothing where gcc refuses, which is kept as well.  OSError where no file can be written."""
    with temporary_folder() as folder:
        written, made = Path(folder) / "kernel.c", Path(folder) / "kernel.so"
        written.write_text(source)
        command = ["gcc", *FLAGS, "-o", str(made), str(written), *LIBRARIES]
        done = subprocess.run(command, capture_output=True, timeout=COMPILING_SECONDS, check=False)
        if done.returncode == 0:
            return made.read_bytes()
        made.write_bytes(bytes(LIBRARY_BYTES))  # is it the place, and not the source?
        return b""


def _loaded(binary: bytes) -> ctypes.CDLL | None:
    """A file is needed only until it is loaded; OSError where it may not be written or executed."""
    with temporary_folder() as folder:
        library = Path(folder) / "kernel.so"
        library.write_bytes(binary)
        return ctypes.CDLL(str(library))


def _function(library: ctypes.CDLL, name: str) -> Kernel:
    function = getattr(library, name)
    function.restype = None

    def call(*arguments: int) -> None:
        function(*map(ctypes.c_void_p, arguments))

    return call
