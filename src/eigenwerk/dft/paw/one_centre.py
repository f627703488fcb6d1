"""Matrices between the projectors of one atom, for all atoms: ΔH and ΔS, applied to projections."""

from copy import copy

import torch

from eigenwerk.dft.paw.atoms import AtomLayout

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
    """A symmetric matrix of blocks (i, i), one for each atom, on the axis I of all projectors."""

    def __init__(self, layout: AtomLayout, flat_x: torch.Tensor, dtype: torch.dtype):
        """flat_x: the blocks in flat order, real; dtype: of the projections to come."""
        self.count = layout.projector_count
        self.parts: list[tuple[torch.Tensor, torch.Tensor]] = []
        for species in layout.species:
            block_aij = layout.blocks(flat_x, species)
            # symmetric up to rounding; its symmetric part keeps H Hermitian to the last bit
            block_aij = (0.5 * (block_aij + block_aij.mT)).to(dtype)
            self.parts.append((layout.columns(species, flat_x.device), block_aij))
        self._dense_II = self.dense() if self.count <= DENSE_LIMIT else None

    def to(self, dtype: torch.dtype) -> "OneCentreMatrix":
        """The same for projections of another type."""
        other = copy(self)
        other.parts = [(place_ai, block_aij.to(dtype)) for place_ai, block_aij in self.parts]
        other._dense_II = None if self._dense_II is None else self._dense_II.to(dtype)
        return other

    def dense(self) -> torch.Tensor:
        """The whole matrix, (I, I)."""
        matrix_II = self.parts[0][1].new_zeros((self.count, self.count))
        for place_ai, block_aij in self.parts:
            matrix_II[place_ai[:, :, None], place_ai[:, None, :]] = block_aij
        return matrix_II

    def times(self, proj_knI: torch.Tensor) -> torch.Tensor:
        """Σ_I P_I D_IJ; (k, n, I) -> (k, n, J)."""
        if self._dense_II is not None:
            return proj_knI @ self._dense_II
        out_knI = torch.empty_like(proj_knI)
        for place_ai, block_aij in self.parts:
            proj_axi = proj_knI[..., place_ai].flatten(0, 1).movedim(1, 0)
            moved_xai = (proj_axi @ block_aij).movedim(0, 1)
            out_knI[..., place_ai.flatten()] = moved_xai.reshape(*proj_knI.shape[:2], -1)
        return out_knI
