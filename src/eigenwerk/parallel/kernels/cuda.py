"""CUDA sources compiled at run time with NVRTC, once for all processes, and their launch on PyTorch's current queue."""

import ctypes
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from threading import Lock
from typing import Any

import torch

from eigenwerk.errors import InputError
from eigenwerk.parallel.kernels.cache import cached

C_REAL = {torch.float32: "float", torch.float64: "double"}


@dataclass(frozen=True, eq=False)
class Kernel:
    """One compiled function; call it with the grid, the threads per block, and (value, ctypes type) arguments.

    shared_bytes: dynamic shared memory of a block.
    """

    function: Any
    driver: Any
    shared_bytes: int = 0

    def with_shared(self, shared_bytes: int) -> "Kernel":
        """The same function with so much dynamic shared memory; beyond 48 KiB a device must be asked for it."""
        attribute = self.driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        (code,) = self.driver.cuFuncSetAttribute(self.function, attribute, shared_bytes)
        _check(code, f"asking for {shared_bytes} bytes of shared memory")
        return Kernel(self.function, self.driver, shared_bytes)

    def __call__(self, grid: tuple[int, int, int], threads: int, *arguments: tuple[Any, Any]) -> None:
        values, types = zip(*arguments, strict=True)
        queue = torch.cuda.current_stream().cuda_stream
        block = threads, 1, 1, self.shared_bytes
        (code,) = self.driver.cuLaunchKernel(self.function, *grid, *block, queue, (values, types), 0)
        _check(code, "launching a CUDA kernel")


def pointer(tensor: torch.Tensor, offset: int = 0) -> tuple[int, Any]:
    """A tensor, from its element `offset` on, as an argument of a kernel."""
    return tensor.data_ptr() + offset * tensor.element_size(), ctypes.c_void_p


def maybe_pointer(tensor: torch.Tensor | None, offset: int = 0) -> tuple[int, Any]:
    """The same, or a null pointer."""
    return (0, ctypes.c_void_p) if tensor is None else pointer(tensor, offset)


def integer(value: int) -> tuple[int, Any]:
    """A 64-bit integer as an argument of a kernel."""
    return int(value), ctypes.c_longlong


def number(value: float) -> tuple[float, Any]:
    """A number in double precision as an argument of a kernel."""
    return float(value), ctypes.c_double


@cache
def can_compile() -> bool:
    """Whether the package cuda-bindings, which finds the compiler of CUDA sources, is installed."""
    return find_spec("cuda") is not None and find_spec("cuda.bindings") is not None


@cache
def shared_bytes(device: int) -> int:
    """Shared memory that one block of threads may ask for (`Kernel.with_shared`)."""
    from cuda.bindings import driver

    torch.cuda.current_stream(device)  # PyTorch's context must exist before the driver is used
    attribute = driver.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
    code, found = driver.cuDeviceGetAttribute(attribute, device)
    _check(code, "asking for the shared memory of a device")
    return int(found)


def kernel(source: str, name: str, device: int, *macros: str) -> Kernel:
    """Compiles a source for a device and finds one of its extern "C" functions.  `macros`: "REAL=float" and the like.

    Threads may ask at once: one compiles, the others wait for it.  What was compiled before, also by another process or
    for another function of the source, is not compiled again (`kernel_cache`).  Raises InputError where the package
    cuda-bindings or the driver is missing.
    """
    key: tuple[str | int, ...] = (source, device, *macros)
    if key not in _modules:
        with _compiling.setdefault(key, Lock()):
            if key not in _modules:
                _modules[key] = _load(source, device, macros)
    driver, module = _modules[key]
    code, function = driver.cuModuleGetFunction(module, name.encode())
    _check(code, f"finding {name}")
    return Kernel(function, driver)


_modules: dict[tuple[str | int, ...], tuple[Any, Any]] = {}
_compiling: dict[tuple[str | int, ...], Lock] = {}


def _load(source: str, device: int, macros: tuple[str, ...]) -> tuple[Any, Any]:
    """From the source to the driver and a module on the device."""
    try:
        from cuda.bindings import driver, nvrtc
    except ImportError as error:
        raise InputError(
            "The GPU back ends compile their kernels with the Python package cuda-bindings, which is not installed. "
            'Install it (pip install cuda-bindings), or set device = "cpu".'
        ) from error
    torch.cuda.current_stream(device)  # PyTorch's context must exist before the driver is used
    torch.zeros(1, device=f"cuda:{device}")
    major, minor = torch.cuda.get_device_capability(device)
    options = (f"--gpu-architecture=sm_{major}{minor}", "--std=c++17", *(f"-D{macro}" for macro in macros))
    code, *version = nvrtc.nvrtcVersion()
    _check(code, "asking for the version of the compiler")
    description = source, *options, *map(str, version)
    binary = cached(description, lambda: _compile(nvrtc, source, options))
    code, module = driver.cuModuleLoadData(binary)
    _check(code, "loading a kernel")
    return driver, module


def _compile(nvrtc: Any, source: str, options: tuple[str, ...]) -> bytes:
    """Machine code for the architecture in the options.  nvrtc: the module of cuda-bindings."""
    code, program = nvrtc.nvrtcCreateProgram(source.encode(), b"kernels.cu", 0, [], [])
    _check(code, "making a program")
    (code,) = nvrtc.nvrtcCompileProgram(program, len(options), [option.encode() for option in options])
    if int(code):
        _, size = nvrtc.nvrtcGetProgramLogSize(program)
        log = b" " * size
        nvrtc.nvrtcGetProgramLog(program, log)
        raise RuntimeError(f"A CUDA source does not compile:\n{log.decode(errors='replace')}")
    code, size = nvrtc.nvrtcGetCUBINSize(program)
    _check(code, "compiling")
    binary = b" " * size
    _check(nvrtc.nvrtcGetCUBIN(program, binary)[0], "compiling")
    nvrtc.nvrtcDestroyProgram(program)
    return binary


def _check(code: Any, what: str) -> None:
    if int(code):
        raise RuntimeError(f"CUDA error {code!r} while {what}.")
