"""Many Hermitian eigenproblems of one size at once on a GPU, by cuSOLVER's batched divide and conquer.

`torch.linalg.eigh` of PyTorch 2.11 gives matrices of more than 32 rows to cuSOLVER one after the other: 64 complex ones
of 64 rows take 49 ms on an H200, this routine 0.6 (benchmarks/parts/batched_eigh).  cuSOLVER has it since CUDA 12.6
(https://docs.nvidia.com/cuda/cusolver, cusolverDnXsyevBatched).  The plain twin is `torch.linalg.eigh`.
"""

import ctypes
from functools import cache
from threading import get_ident

import torch

VECTORS, LOWER = 1, 0
"""CUSOLVER_EIG_MODE_VECTOR and CUBLAS_FILL_MODE_LOWER."""

KINDS = {torch.float32: 0, torch.float64: 1, torch.complex64: 4, torch.complex128: 5}
"""cudaDataType_t of the elements."""


@cache
def library() -> ctypes.CDLL | None:
    """cuSOLVER as PyTorch loads it; None where it is absent or older than the routine."""
    try:
        from cuda.pathfinder import DynamicLibNotFoundError, load_nvidia_dynamic_lib
    except ImportError:
        return None
    try:
        found = ctypes.CDLL(load_nvidia_dynamic_lib("cusolver").abs_path)
    except (DynamicLibNotFoundError, OSError):
        return None
    return found if hasattr(found, "cusolverDnXsyevBatched") else None


@cache
def _handle(device: int, thread: int) -> tuple[ctypes.CDLL, ctypes.c_void_p, ctypes.c_void_p]:
    """cuSOLVER, a handle and parameters; a handle serves one thread."""
    routines, handle, parameters = library(), ctypes.c_void_p(), ctypes.c_void_p()
    if routines is None:
        raise RuntimeError("no cuSOLVER with cusolverDnXsyevBatched was found; `library` says so beforehand")
    with torch.cuda.device(device):
        _check(routines.cusolverDnCreate(ctypes.byref(handle)))
        _check(routines.cusolverDnCreateParams(ctypes.byref(parameters)))
    return routines, handle, parameters


def solve(h_kmm: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """(ascending eigenvalues (k, m), columns (k, m, m)) of Hermitian matrices on a GPU.

    Raises torch.linalg.LinAlgError where an iteration does not converge, which means NaN or infinity.
    """
    problems, size, _ = h_kmm.shape
    device = h_kmm.device
    # cuSOLVER's matrices lie column by column: the columns of H are the rows of conj(H)
    vector_knm = torch.empty_like(h_kmm, memory_format=torch.contiguous_format).copy_(h_kmm.conj())
    eig_km = torch.empty((problems, size), dtype=h_kmm.real.dtype, device=device)
    info_k = torch.empty(problems, dtype=torch.int32, device=device)
    kind, real_kind = KINDS[h_kmm.dtype], KINDS[eig_km.dtype]
    routines, handle, parameters = _handle(h_kmm.get_device(), get_ident())
    rows, count = ctypes.c_int64(size), ctypes.c_int64(problems)
    common = (
        handle, parameters, VECTORS, LOWER, rows, kind, ctypes.c_void_p(vector_knm.data_ptr()), rows, real_kind,
        ctypes.c_void_p(eig_km.data_ptr()), kind,
    )  # fmt: skip
    on_device, on_host = ctypes.c_size_t(), ctypes.c_size_t()
    with torch.cuda.device(device):
        _check(routines.cusolverDnSetStream(handle, ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)))
        sizes = ctypes.byref(on_device), ctypes.byref(on_host)
        _check(routines.cusolverDnXsyevBatched_bufferSize(*common, *sizes, count))
        room = torch.empty(max(1, on_device.value), dtype=torch.uint8, device=device)
        host_room = ctypes.create_string_buffer(max(1, on_host.value))
        rooms = ctypes.c_void_p(room.data_ptr()), on_device, host_room, on_host
        _check(routines.cusolverDnXsyevBatched(*common, *rooms, ctypes.c_void_p(info_k.data_ptr()), count))
    failed_k = (info_k != 0) | ~torch.isfinite(eig_km).all(-1)
    if bool(failed_k.any()):
        bad = failed_k.nonzero()[:, 0].tolist()
        raise torch.linalg.LinAlgError(f"The eigenvalues of the matrices {bad} of {problems} did not converge.")
    return eig_km, vector_knm.mT


def _check(status: int) -> None:
    if status:
        raise RuntimeError(f"cuSOLVER returned the status {status} for a batch of eigenproblems")
