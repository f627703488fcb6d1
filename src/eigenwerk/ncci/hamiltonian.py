"""What a solver is given: H on a many-body basis, by one of the back ends."""

from typing import Protocol

import torch

from eigenwerk.errors import InputError
from eigenwerk.ncci.basis_pairs import BasisPairs, basis_pairs
from eigenwerk.ncci.dense import dense_hamiltonian
from eigenwerk.ncci.interaction.two_body import TwoBody
from eigenwerk.ncci.manybody import ManyBodyBasis
from eigenwerk.ncci.pairs import pairs_hamiltonian


class Hamiltonian(Protocol):
    """A symmetric operator on many-body states; `apply` takes and returns (n, b) of its number type and device."""

    @property
    def dimension(self) -> int: ...

    @property
    def dtype(self) -> torch.dtype: ...

    @property
    def device(self) -> torch.device: ...

    def apply(self, x_nb: torch.Tensor) -> torch.Tensor: ...


BACKENDS = {"dense": dense_hamiltonian, "pairs": pairs_hamiltonian}


def hamiltonian(
    basis: ManyBodyBasis,
    operator: TwoBody | BasisPairs,
    backend: str = "pairs",
    dtype: torch.dtype = torch.float64,
    device: torch.device | str = "cpu",
) -> Hamiltonian:
    """The operator on the basis; for the Hamiltonian and for every other scalar two-body operator alike."""
    if backend not in BACKENDS:
        raise InputError(f"There is no back end '{backend}'. Choose one of {', '.join(sorted(BACKENDS))}.")
    pairs = operator if isinstance(operator, BasisPairs) else basis_pairs(basis, operator)
    return BACKENDS[backend](basis, pairs, dtype, device)
