"""The order of one-centre quantities: atoms as in the structure, and the places of their projectors among all."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from eigenwerk.dft.paw.setup import Setup


@dataclass(frozen=True)
class Species:
    """Atoms of one kind: their setup, indices a in the structure and slice of the projector axis."""

    setup: Setup
    atom_a: np.ndarray
    start_a: np.ndarray

    @property
    def count(self) -> int:
        """Number of atoms."""
        return len(self.atom_a)


@dataclass(frozen=True)
class AtomLayout:
    """Order of one-centre quantities: atoms in structure order, projectors of an atom contiguous.

    Occupancies and one-centre Hamiltonians of a spin are flat vectors x: the i·i blocks of the atoms
    one after the other.
    """

    species: tuple[Species, ...]
    projectors_a: np.ndarray

    @cached_property
    def projector_count(self) -> int:
        """Projectors of all atoms."""
        return int(self.projectors_a.sum())

    @cached_property
    def charges_lmax(self) -> int:
        """Largest l of compensation charges."""
        return max(species.setup.shape.lmax for species in self.species)

    @cached_property
    def block_start_a(self) -> np.ndarray:
        """Start of each atom's block in the flat vector; one more entry for the end."""
        return np.concatenate([[0], np.cumsum(self.projectors_a**2)])

    def blocks(self, flat_sx: torch.Tensor, species: Species) -> torch.Tensor:
        """(s, a, i, i) blocks of one species' atoms, gathered from the flat vector."""
        i = species.setup.projector_count
        return flat_sx[..., self._positions(species, flat_sx.device)].unflatten(-1, (i, i))

    def flatten(self, block_list: list[torch.Tensor]) -> torch.Tensor:
        """Inverse of `blocks` for all species in order: (…, a, i, i) each -> (…, x)."""
        flat = block_list[0].new_zeros((*block_list[0].shape[:-3], int(self.block_start_a[-1])))
        for species, block in zip(self.species, block_list, strict=True):
            flat[..., self._positions(species, flat.device)] = block.flatten(-2)
        return flat

    def columns(self, species: Species, device: torch.device) -> torch.Tensor:
        """Places of one species' projectors on the axis of all; (a, i)."""
        return self._kept_index("columns", species, device, species.start_a, species.setup.projector_count)

    def run(self, species: Species) -> slice | None:
        """Where one species' projectors are on the axis of all, if other atoms' are not between them."""
        start, size = int(species.start_a[0]), species.setup.projector_count
        together = bool((species.start_a == start + size * np.arange(species.count)).all())
        return slice(start, start + size * species.count) if together else None

    def _positions(self, species: Species, device: torch.device) -> torch.Tensor:
        start_a, size = self.block_start_a[species.atom_a], species.setup.projector_count**2
        return self._kept_index("blocks", species, device, start_a, size)

    def _kept_index(
        self, what: str, species: Species, device: torch.device, start_a: np.ndarray, size: int
    ) -> torch.Tensor:
        """start_a + 0 ... size-1 on a device, copied there once; (a, size)."""
        key = what, species.setup.symbol, device
        if key not in self._kept:
            self._kept[key] = torch.as_tensor(start_a[:, None] + np.arange(size), device=device)
        return self._kept[key]

    @cached_property
    def _kept(self) -> dict[tuple[str, str, torch.device], torch.Tensor]:
        return {}


def atom_layout(setups: dict[str, Setup], symbols: tuple[str, ...]) -> AtomLayout:
    """Order atoms and projectors of a structure."""
    projectors_a = np.array([setups[symbol].projector_count for symbol in symbols])
    start_a = np.concatenate([[0], np.cumsum(projectors_a)])
    ordered = dict.fromkeys(symbols)
    members = {symbol: np.array([a for a, other in enumerate(symbols) if other == symbol]) for symbol in ordered}
    species = tuple(Species(setups[s], members[s], start_a[members[s]]) for s in ordered)
    return AtomLayout(species, projectors_a)
