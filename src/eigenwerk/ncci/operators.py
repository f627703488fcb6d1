"""The Hamiltonian of a case as an operator of one of the back ends, as the solvers of `linalg` want it."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch

from eigenwerk.errors import InputError
from eigenwerk.ncci.basis.basis_pairs import BasisPairs
from eigenwerk.ncci.basis.manybody import ManyBodyBasis
from eigenwerk.ncci.inputs import SolverSettings
from eigenwerk.ncci.pairs.pairs import pairs_hamiltonian
from eigenwerk.ncci.stored.csb import csb_hamiltonian
from eigenwerk.ncci.stored.dense import dense_hamiltonian


class Products(Protocol):
    """What a back end can do."""

    def apply(self, x_nb: torch.Tensor) -> torch.Tensor:
        """H x, (n, b)."""
        ...


@dataclass(frozen=True, eq=False)
class Hamiltonian:
    """A back end's operator on one device, with its name and what it took to build (seconds)."""

    products: Products
    backend: str
    build_seconds: float

    def apply(self, x_nb: torch.Tensor) -> torch.Tensor:
        """H x, (n, b)."""
        return self.products.apply(x_nb)

    def sum(self, tensor: torch.Tensor) -> torch.Tensor:
        """One process has all components."""
        return tensor


def device_of(name: str) -> torch.device:
    """The device a case asks for.  Raises InputError where there is none of that kind."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if name.startswith("cuda") and not torch.cuda.is_available():
        raise InputError(f"[solver] device = '{name}', but PyTorch sees no GPU here. Set device = \"cpu\".")
    device = torch.device(name)
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise InputError(
            f"[solver] device = '{name}', but there are {torch.cuda.device_count()} GPUs, counted from 0. "
            f'Set device = "cuda:{torch.cuda.device_count() - 1}" or lower.'
        )
    return device


def dtype_of(precision: str) -> torch.dtype:
    """Of vectors and matrix elements."""
    return torch.float64 if precision == "double" else torch.float32


BUILDERS: dict[str, Callable[[ManyBodyBasis, BasisPairs, torch.dtype, torch.device], Products]] = {
    "csb": csb_hamiltonian,
    "pairs": pairs_hamiltonian,
    "dense": dense_hamiltonian,
}
"""Back ends by name."""


def build_hamiltonian(basis: ManyBodyBasis, pairs: BasisPairs, choice: SolverSettings, backend: str) -> Hamiltonian:
    """The operator of `pairs` on a basis, by the back end of that name."""
    begin = time.perf_counter()
    products = BUILDERS[backend](basis, pairs, dtype_of(choice.precision), device_of(choice.device))
    return Hamiltonian(products, backend, time.perf_counter() - begin)
