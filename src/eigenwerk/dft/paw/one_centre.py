"""Matrices between the projectors of one atom, for all atoms: ΔH and ΔS, applied to projections."""

from copy import copy

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


class OneCentreMatrix:
    """Hermitian matrices s of blocks (i, i), one for each atom, on the axis I of all projectors."""

    def __init__(
        self, layout: AtomLayout, flat_sx: torch.Tensor, dtype: torch.dtype, last_smm: torch.Tensor | None = None
    ):
        """flat_sx: the blocks in flat order; dtype: of the projections to come; last_smm: a block behind them."""
        self.count = layout.projector_count
        self.parts: list[tuple[torch.Tensor, torch.Tensor]] = []
        for species in layout.species:
            block_saij = layout.blocks(flat_sx, species)
            # Hermitian up to rounding; its Hermitian part keeps H so to the last bit
            block_saij = (0.5 * (block_saij + block_saij.mH)).to(dtype)
            self.parts.append((layout.columns(species, flat_sx.device), block_saij))
        if last_smm is not None:
            place_1m = torch.arange(self.count, self.count + last_smm.shape[-1], device=last_smm.device)[None]
            self.parts.append((place_1m, last_smm[:, None].to(dtype)))
            self.count += last_smm.shape[-1]
        self._dense_sII = self.dense() if self.count <= DENSE_LIMIT else None

    def to(self, dtype: torch.dtype) -> "OneCentreMatrix":
        """The same for projections of another type."""
        other = copy(self)
        other.parts = [(place_ai, block_saij.to(dtype)) for place_ai, block_saij in self.parts]
        other._dense_sII = None if self._dense_sII is None else self._dense_sII.to(dtype)
        return other

    def dense(self) -> torch.Tensor:
        """The whole matrices, (s, I, I)."""
        block_saij = self.parts[0][1]
        matrix_sII = block_saij.new_zeros((len(block_saij), self.count, self.count))
        for place_ai, block_saij in self.parts:
            matrix_sII[:, place_ai[:, :, None], place_ai[:, None, :]] = block_saij
        return matrix_sII

    def times(self, proj_knI: torch.Tensor, s: int | torch.Tensor = 0) -> torch.Tensor:
        """Σ_J D_IJ P_J with the matrix s of all, or of each, of the problems k; (k, n, I)."""
        if self._dense_sII is not None:
            return proj_knI @ self._dense_sII[s].mT
        # with one matrix, the bands of all problems are one product
        proj_xnI = proj_knI.flatten(0, 1)[None] if isinstance(s, int) else proj_knI
        out_xnI = torch.empty_like(proj_xnI)
        for place_ai, block_saij in self.parts:
            moved_xani = proj_xnI[..., place_ai].movedim(2, 1) @ block_saij[s].mT
            out_xnI[..., place_ai.flatten()] = moved_xani.movedim(1, 2).flatten(2)
        return out_xnI.view_as(proj_knI)
