"""Matrices between the projectors of one atom, for all atoms: ΔH and ΔS, applied to projections."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace

import torch

from eigenwerk.dft.paw.atom_layout import AtomLayout

DENSE_LIMIT = 512
"""Up to this number of projectors one product with the whole block-diagonal matrix is faster than one for each atom."""


def projections(x_knG: torch.Tensor, projector_kIG: torch.Tensor) -> torch.Tensor:
    """<p̃_I|ψ̃_n> on the plane waves of this rank; (k, n, I).

    BLAS conjugates as it goes, but PyTorch's batched product on a processor conjugates a copy: there it is made of the
    orbitals, which are fewer than the projectors.
    """
    if len(x_knG) == 1:
        return (x_knG[0] @ projector_kIG[0].mH)[None]
    if x_knG.is_cpu and x_knG.is_complex():
        return (x_knG.conj() @ projector_kIG.mT).conj().resolve_conj()
    return x_knG @ projector_kIG.mH


@dataclass(frozen=True)
class Part:
    """Blocks of atoms with as many projectors each: block_saij, and place_ai, where these stand among all.

    run: the same place where it is one piece of the axis, else None.
    """

    place_ai: torch.Tensor
    block_saij: torch.Tensor
    run: slice | None


class OneCentreMatrix:
    """Hermitian matrices s of blocks (i, i), one for each atom, on the axis I of all projectors."""

    def __init__(
        self, layout: AtomLayout, flat_sx: torch.Tensor, dtype: torch.dtype, last_smm: torch.Tensor | None = None
    ):
        """flat_sx: the blocks in flat order; dtype: of the projections to come; last_smm: a block behind them."""
        self.count = layout.projector_count
        self.parts: list[Part] = []
        for species in layout.species:
            block_saij = layout.blocks(flat_sx, species)
            # Hermitian up to rounding; its Hermitian part keeps H so to the last bit
            block_saij = (0.5 * (block_saij + block_saij.mH)).to(dtype)
            self.parts.append(Part(layout.columns(species, flat_sx.device), block_saij, layout.run(species)))
        if last_smm is not None:
            run = slice(self.count, self.count + last_smm.shape[-1])
            place_1m = torch.arange(run.start, run.stop, device=last_smm.device)[None]
            self.parts.append(Part(place_1m, last_smm[:, None].to(dtype), run))
            self.count = run.stop
        self._dense_sII = self.dense() if self.count <= DENSE_LIMIT else None

    def to(self, dtype: torch.dtype) -> OneCentreMatrix:
        """The same for projections of another type."""
        other = copy(self)
        other.parts = [replace(part, block_saij=part.block_saij.to(dtype)) for part in self.parts]
        other._dense_sII = None if self._dense_sII is None else self._dense_sII.to(dtype)
        return other

    def dense(self) -> torch.Tensor:
        """The whole matrices, (s, I, I)."""
        block_saij = self.parts[0].block_saij
        matrix_sII = block_saij.new_zeros((len(block_saij), self.count, self.count))
        for part in self.parts:
            matrix_sII[:, part.place_ai[:, :, None], part.place_ai[:, None, :]] = part.block_saij
        return matrix_sII

    def times(self, proj_knI: torch.Tensor, s: int | torch.Tensor = 0) -> torch.Tensor:
        """Σ_J D_IJ P_J with the matrix s of all, or of each, of the problems k; (k, n, I)."""
        if self._dense_sII is not None:
            return proj_knI @ self._dense_sII[s].mT
        out_knI = torch.empty_like(proj_knI, memory_format=torch.contiguous_format)
        # with one matrix, the bands of all problems are one product
        given_xnI, out_xnI = (x.flatten(0, 1)[None] if isinstance(s, int) else x for x in (proj_knI, out_knI))
        for part in self.parts:
            block_aij = part.block_saij[s]
            if part.run is not None and isinstance(s, int):  # atoms in one piece: nothing is gathered
                given_ani, out_ani = (
                    x_xnI[0, :, part.run].unflatten(1, tuple(part.place_ai.shape)).movedim(1, 0)
                    for x_xnI in (given_xnI, out_xnI)
                )
                torch.bmm(given_ani, block_aij.mT, out=out_ani)
                continue
            moved_xani = given_xnI[..., part.place_ai].movedim(2, 1) @ block_aij.mT
            out_xnI[..., part.place_ai.flatten()] = moved_xani.movedim(1, 2).flatten(2)
        return out_knI
