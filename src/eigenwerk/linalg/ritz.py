"""Ritz pairs of start vectors: where every solver of a block of problems begins."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch

from eigenwerk.errors import ConvergenceError
from eigenwerk.linalg.bands.subspace import Subspace, subspace
from eigenwerk.linalg.dense import DenseEigh, Overlap
from eigenwerk.linalg.images import Images, images
from eigenwerk.linalg.operator import Operator
from eigenwerk.linalg.orthogonal import ATTEMPTS, refilled

AMPLIFICATION = 1e4
"""Start vectors that cancel more than this when made orthonormal have H applied again afterwards: the rounding
errors of H x grow by its square root, and would stay to the end."""


@dataclass(frozen=True)
class RitzPairs:
    """The Ritz pairs of some vectors, with their images.

    eig_kn: (k, n) ascending.  missing_kn: (k, n) True for vectors that do not exist (they are zero).
    applications: vectors that H was applied to.  notes: in words.
    """

    images: Images
    eig_kn: torch.Tensor
    missing_kn: torch.Tensor
    applications: int
    notes: tuple[str, ...]


def first_ritz(
    operator: Operator, start_knx: torch.Tensor, eigh: DenseEigh, proj_kni: torch.Tensor | None = None
) -> RitzPairs:
    """Rayleigh-Ritz in the start vectors; dependent ones are replaced by noise and H applied again.

    proj_kni: P x of the start vectors, if it is known (`SplitOperator`).
    """
    problems, count, _ = start_knx.shape
    notes: list[str] = []
    x_knx, applications = start_knx, 0
    for attempt in range(ATTEMPTS):
        space = subspace(images(operator, x_knx, proj_kni=proj_kni), operator.sum)
        applications += problems * count
        eig_kn, c_knn, rank_k = checked_ritz(space, eigh)
        ritz = space.rotated(c_knn)
        poor, amplified = _doubts((rank_k < count).any(), space, c_knn)
        if not poor and not amplified:
            break
        if poor:
            notes.append(_rank_note(rank_k, count))
        x_knx, proj_kni = refilled(ritz.x_knx, rank_k, operator.sum, seed=attempt), None
    missing_kn = torch.arange(count, device=rank_k.device) >= rank_k.unsqueeze(-1)
    return RitzPairs(ritz, eig_kn.to(ritz.eig_dtype), missing_kn, applications, tuple(notes))


def last_ritz(
    operator: Operator, moved: Images, missing_kn: torch.Tensor, eigh: DenseEigh, *, vectors_only: bool
) -> RitzPairs:
    """Rayleigh-Ritz in vectors that have been moved together with their images.

    missing_kn: (k, n) vectors that did not exist before.  If others have become dependent or nearly so, H is applied
    again (`first_ritz`), with a note.  vectors_only: leave out the images under H, which saves a product.
    """
    space = subspace(moved, operator.sum)
    eig_kn, c_knn, rank_k = checked_ritz(space, eigh)
    lost_k = missing_kn.shape[1] - missing_kn.sum(-1) - rank_k
    if any(_doubts(lost_k.sum() > 0, space, c_knn)):
        lost = int(lost_k.sum())
        again = first_ritz(operator, refilled(space.vectors(c_knn), rank_k, operator.sum), eigh)
        note = f"bands ran into each other ({lost} lost): H was applied again to all bands of {len(eig_kn)} problems"
        return replace(again, notes=(note, *again.notes))
    ritz = space.rotated_last(c_knn) if vectors_only else space.rotated(c_knn)
    missing_kn = torch.arange(missing_kn.shape[1], device=rank_k.device) >= rank_k.unsqueeze(-1)
    return RitzPairs(ritz, eig_kn.to(ritz.eig_dtype), missing_kn, 0, ())


def checked_ritz(
    space: Subspace, eigh: DenseEigh, overlap: Overlap | None = None
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Rayleigh-Ritz, or a clear error if the operator has returned NaN or infinity."""
    check_finite(space)
    return space.rayleigh_ritz(eigh, overlap)


def check_finite(space: Subspace) -> None:
    """Raise ConvergenceError if the projected pencil is not finite."""
    fine_k = torch.isfinite((space.h_kmm + space.s_kmm).sum((-2, -1)))
    if not bool(fine_k.all()):
        bad = (~fine_k).nonzero()[:, 0].tolist()
        raise ConvergenceError(
            f"eigensolver: H or S times a vector is not finite in problems {bad} of the block "
            f"({space.size} vectors). Check the potential and the start vectors for NaN."
        )


def _doubts(poor: torch.Tensor, space: Subspace, c_kmn: torch.Tensor) -> tuple[bool, bool]:
    """poor, a truth value on the device of the vectors, and whether they cancel too much: max_n sum_m |c_mn|^2 S_mm,
    one for orthogonal vectors, is above AMPLIFICATION.  Both in one: to ask a GPU is to wait for it."""
    length_km1 = space.s_kmm.diagonal(dim1=-2, dim2=-1).real.unsqueeze(-1)
    amplified = ~((c_kmn.abs().square() * length_km1).sum(-2).amax() < AMPLIFICATION)
    lacking, cancelling = torch.stack([poor, amplified]).tolist()
    return lacking, cancelling


def _rank_note(rank_k: torch.Tensor, count: int) -> str:
    poor = [(i, rank) for i, rank in enumerate(rank_k.tolist()) if rank < count]
    listed = ", ".join(f"{i} ({rank} of {count})" for i, rank in poor[:8])
    more = f" and {len(poor) - 8} more" if len(poor) > 8 else ""
    return f"dependent start vectors filled up with noise; independent ones in problem: {listed}{more}"
