"""Blocked Davidson for the lowest pairs of batches of generalised Hermitian problems.

Equations and choices: docs/equations/davidson.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch

from eigenwerk.errors import ConvergenceError
from eigenwerk.linalg.dense import DenseEigh, dense_eigh
from eigenwerk.linalg.operator import ALL, EigenResult, Operator, Which
from eigenwerk.linalg.orthogonal import ATTEMPTS, refilled
from eigenwerk.linalg.subspace import Images, Subspace, norms, ritz_subspace, subspace

LEAVING_SHARE = 0.25
"""Share of the problems that must be finished before they leave the batch: leaving copies the rest."""


AMPLIFICATION = 1e4
"""Start vectors that cancel more than this when made orthonormal have H applied again afterwards: the rounding
errors of H x grow by its square root, and would stay to the end."""


def davidson(
    operator: Operator,
    start_knx: torch.Tensor,
    *,
    expansions: int = 2,
    tolerance: float | torch.Tensor = 0.0,
    wanted_weight_kn: torch.Tensor | None = None,
    max_space: int = 3,
    final_residual: bool = True,
    eigh: DenseEigh = dense_eigh,
) -> EigenResult:
    """The lowest n pairs of H x = e S x, from n start vectors per problem.

    Rayleigh-Ritz in the start vectors; then, `expansions` times at most: residuals r = H x - e S x,
    preconditioned and normalised, join the space [X, P1, P2, ...]; Rayleigh-Ritz in it.  H is
    applied once per start vector and once per new vector.
    Source: E. R. Davidson, J. Comput. Phys. 17, 87 (1975); the blocked form in G. Kresse and
    J. Furthmueller, Phys. Rev. B 54, 11169 (1996), section IV.

    start_knx: (k, n, x), any length, dependent vectors allowed (they are replaced, with a note).
    tolerance: a number or (k, n), on the 2-norm of the residual; 0 never stops early.
    wanted_weight_kn: (k, n); a problem is finished when its bands of weight > 0 are converged.
    max_space: the space restarts from the Ritz vectors and their last directions before it exceeds
    this multiple of n (at least 3; 2 restarts from the Ritz vectors alone).
    final_residual: False saves two matrix products of the last step; residuals are then those
    before the last expansion.
    Returns EigenResult.  Raises ConvergenceError if the operator returns numbers that are not finite.
    """
    batch = _first_ritz(operator, start_knx, eigh)
    limits = _Limits.of(tolerance, wanted_weight_kn, batch.eig_kn)
    finished = _Finished.like(batch)
    for step in range(expansions):
        residual_knx = batch.residual(operator)
        if limits.active:
            done_k = limits.done(batch)
            if bool(done_k.all()):
                break
            batch, residual_knx = finished.leave(batch, done_k, residual_knx)
        chosen = limits.chosen(batch)
        new = _new_directions(operator, batch, residual_knx, chosen)
        del residual_knx
        last = step == expansions - 1 and not final_residual
        batch = _expanded(operator, batch, new, max_space, vectors_only=last, eigh=eigh)
    else:
        if final_residual:
            batch.residual(operator)
    return finished.result(batch, limits)


@dataclass
class _Batch:
    """The problems still at work: Ritz pairs, the space they were found in and their coefficients there."""

    ritz: Images
    eig_kn: torch.Tensor
    space: Subspace
    c_kmn: torch.Tensor
    index_k: torch.Tensor
    which: Which
    residual_kn: torch.Tensor
    missing_kn: torch.Tensor
    applications: int
    iterations: int
    notes: tuple[str, ...]

    def residual(self, operator: Operator) -> torch.Tensor:
        """H x - e S x (k, n, x); remembers the norms."""
        residual_knx = torch.addcmul(
            self.ritz.hx_knx, self.eig_kn.unsqueeze(-1).to(self.ritz.sx_knx.dtype), self.ritz.sx_knx, value=-1
        )
        self.residual_kn = norms(residual_knx, operator.sum).masked_fill(self.missing_kn, float("inf"))
        return residual_knx

    def problems(self, k: torch.Tensor) -> _Batch:
        """The batch with only the problems of these positions."""
        index_k = self.index_k[k]
        return replace(
            self,
            ritz=self.ritz.problems(k),
            eig_kn=self.eig_kn[k],
            space=self.space.problems(k),
            c_kmn=self.c_kmn[k],
            index_k=index_k,
            which=_which(index_k),
            residual_kn=self.residual_kn[k],
            missing_kn=self.missing_kn[k],
        )


def _which(index_k: torch.Tensor) -> Which:
    """A slice where the problems are neighbours: slicing an operator's tensors copies nothing."""
    first, last = int(index_k[0]), int(index_k[-1])
    return slice(first, last + 1) if last - first + 1 == len(index_k) else index_k


@dataclass(frozen=True)
class _Limits:
    """When a band, and when a problem, is good enough."""

    tolerance_kn: torch.Tensor
    wanted_kn: torch.Tensor
    active: bool

    @staticmethod
    def of(tolerance: float | torch.Tensor, weight_kn: torch.Tensor | None, eig_kn: torch.Tensor) -> _Limits:
        active = isinstance(tolerance, torch.Tensor) or tolerance > 0
        tolerance_kn = torch.as_tensor(tolerance, dtype=eig_kn.dtype, device=eig_kn.device).expand(eig_kn.shape)
        wanted_kn = torch.ones_like(eig_kn, dtype=torch.bool) if weight_kn is None else weight_kn > 0
        return _Limits(tolerance_kn, wanted_kn, active)

    def converged(self, batch: _Batch) -> torch.Tensor:
        """(k, n) of the batch's problems."""
        return batch.residual_kn <= self.tolerance_kn[batch.index_k]

    def done(self, batch: _Batch) -> torch.Tensor:
        """(k,) of the batch's problems."""
        return (self.converged(batch) | ~self.wanted_kn[batch.index_k]).all(-1)

    def chosen(self, batch: _Batch) -> torch.Tensor | None:
        """Bands that are not converged at every problem of the batch; None for all of them."""
        if not self.active:
            return None
        open_n = (~self.converged(batch)).any(0)
        return None if bool(open_n.all()) else open_n.nonzero()[:, 0]


@dataclass
class _Finished:
    """Answers of all problems of the block, filled as they leave the batch."""

    eig_kn: torch.Tensor
    residual_kn: torch.Tensor
    missing_kn: torch.Tensor
    vectors_knx: torch.Tensor | None = None

    @staticmethod
    def like(batch: _Batch) -> _Finished:
        return _Finished(batch.eig_kn, torch.full_like(batch.eig_kn, float("inf")), batch.missing_kn)

    def leave(self, batch: _Batch, done_k: torch.Tensor, residual_knx: torch.Tensor) -> tuple[_Batch, torch.Tensor]:
        """Store what is finished and return the rest, if enough is finished to be worth the copy."""
        if int(done_k.sum()) < LEAVING_SHARE * len(done_k) or not bool(done_k.any()):
            return batch, residual_knx
        self.store(batch.problems(done_k.nonzero()[:, 0]))
        stay = (~done_k).nonzero()[:, 0]
        return batch.problems(stay), residual_knx[stay]

    def store(self, batch: _Batch) -> None:
        """Write the batch's pairs to their places (in copies: the fields start as the batch's own)."""
        index = batch.index_k
        if self.vectors_knx is None:
            shape = (len(self.eig_kn), *batch.ritz.x_knx.shape[1:])
            self.vectors_knx = batch.ritz.x_knx.new_empty(shape)
        self.vectors_knx[index] = batch.ritz.x_knx
        self.eig_kn = self.eig_kn.index_copy(0, index, batch.eig_kn)
        self.residual_kn = self.residual_kn.index_copy(0, index, batch.residual_kn)
        self.missing_kn = self.missing_kn.index_copy(0, index, batch.missing_kn)

    def result(self, batch: _Batch, limits: _Limits) -> EigenResult:
        """The answer for the whole block; without a copy when no problem left."""
        if self.vectors_knx is None:
            self.eig_kn, self.residual_kn, self.vectors_knx = batch.eig_kn, batch.residual_kn, batch.ritz.x_knx
            self.missing_kn = batch.missing_kn
        else:
            self.store(batch)
        converged_kn = (self.residual_kn <= limits.tolerance_kn) & ~self.missing_kn
        return EigenResult(
            self.eig_kn, self.vectors_knx, self.residual_kn, batch.applications, batch.iterations, converged_kn,
            batch.notes,
        )  # fmt: skip


def _first_ritz(operator: Operator, start_knx: torch.Tensor, eigh: DenseEigh) -> _Batch:
    """Rayleigh-Ritz in the start vectors; dependent ones are replaced by noise and H applied again."""
    problems, count, _ = start_knx.shape
    notes: list[str] = []
    x_knx, applications = start_knx, 0
    for attempt in range(ATTEMPTS):
        space = subspace(Images(x_knx, *operator.apply(x_knx)), operator.sum)
        applications += problems * count
        eig_kn, c_knn, rank_k = _checked_ritz(space, eigh)
        ritz = space.rotated(c_knn)
        poor = bool((rank_k < count).any())
        if not poor and _amplification(space, c_knn) < AMPLIFICATION:
            break
        if poor:
            notes.append(_rank_note(rank_k, count))
        x_knx = refilled(ritz.x_knx, rank_k, operator.sum, seed=attempt)
    index_k = torch.arange(problems, device=start_knx.device)
    eig_kn = eig_kn.to(ritz.x_knx.real.dtype)
    missing_kn = torch.arange(count, device=rank_k.device) >= rank_k.unsqueeze(-1)
    unknown_kn = torch.full_like(eig_kn, float("inf"))
    space = ritz_subspace(ritz, eig_kn, missing_kn)
    # From here the Ritz vectors are the first block of the space.
    c_knn = torch.diag_embed(torch.ones_like(eig_kn)).to(c_knn.dtype)
    return _Batch(ritz, eig_kn, space, c_knn, index_k, ALL, unknown_kn, missing_kn, applications, 0, tuple(notes))


def _new_directions(
    operator: Operator, batch: _Batch, residual_knx: torch.Tensor, chosen: torch.Tensor | None
) -> Images:
    """Preconditioned residuals of the chosen bands at unit length, with their images."""
    eig_kn, x_knx = batch.eig_kn, batch.ritz.x_knx
    if chosen is not None:
        residual_knx, eig_kn, x_knx = residual_knx[:, chosen], eig_kn[:, chosen], x_knx[:, chosen]
    p_knx = operator.precondition(residual_knx, eig_kn, x_knx, batch.which)
    length_kn = norms(p_knx, operator.sum)
    tiny = torch.finfo(length_kn.dtype).tiny
    p_knx = p_knx * torch.where(length_kn > tiny, 1 / length_kn.clamp_min(tiny), 0 * length_kn).unsqueeze(-1)
    return Images(p_knx, *operator.apply(p_knx, batch.which))


def _expanded(
    operator: Operator, batch: _Batch, new: Images, max_space: int, *, vectors_only: bool, eigh: DenseEigh
) -> _Batch:
    """The batch after one Rayleigh-Ritz step in the space with the new directions."""
    problems, count = batch.eig_kn.shape
    space = batch.space
    if space.size + new.x_knx.shape[1] > max(max_space, 2) * count:
        space = _restarted(operator, batch, count if max_space > 2 else 0)
    space = space.grown(new, operator.sum)
    eig_km, c_kmm, rank_k = _checked_ritz(space, eigh)
    c_kmn = c_kmm[..., :count]
    ritz = replace(batch.ritz, x_knx=space.vectors(c_kmn)) if vectors_only else space.rotated(c_kmn)
    return replace(
        batch,
        ritz=ritz,
        eig_kn=eig_km[:, :count].to(batch.eig_kn.dtype),
        space=space,
        c_kmn=c_kmn,
        missing_kn=torch.arange(count, device=rank_k.device) >= rank_k.unsqueeze(-1),
        applications=batch.applications + problems * new.x_knx.shape[1],
        iterations=batch.iterations + 1,
    )


def _restarted(operator: Operator, batch: _Batch, first: int) -> Subspace:
    """A new space of the Ritz vectors and, unless first = 0, of their parts outside the first `first` vectors.

    Those parts are the directions in which the Ritz vectors have moved since the last restart; with them a
    restart forgets little (A. V. Knyazev, SIAM J. Sci. Comput. 23, 517 (2001)).
    """
    space = subspace(batch.ritz, operator.sum)
    if not first:
        return space
    moved_kmn = batch.c_kmn.clone()
    moved_kmn[:, :first] = 0
    return space.grown(batch.space.rotated(moved_kmn), operator.sum)


def _checked_ritz(space: Subspace, eigh: DenseEigh) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Rayleigh-Ritz, or a clear error if the operator has returned NaN or infinity."""
    fine_k = torch.isfinite((space.h_kmm + space.s_kmm).sum((-2, -1)))
    if not bool(fine_k.all()):
        bad = (~fine_k).nonzero()[:, 0].tolist()
        raise ConvergenceError(
            f"Davidson: H or S times a vector is not finite in problems {bad} of the block "
            f"({space.size} vectors). Check the potential and the start vectors for NaN."
        )
    return space.rayleigh_ritz(eigh)


def _amplification(space: Subspace, c_kmn: torch.Tensor) -> float:
    """max_n sum_m |c_mn|^2 S_mm: one for orthogonal vectors, large where they cancel."""
    length_km1 = space.s_kmm.diagonal(dim1=-2, dim2=-1).real.unsqueeze(-1)
    return float((c_kmn.abs().square() * length_km1).sum(-2).amax())


def _rank_note(rank_k: torch.Tensor, count: int) -> str:
    poor = [(i, rank) for i, rank in enumerate(rank_k.tolist()) if rank < count]
    listed = ", ".join(f"{i} ({rank} of {count})" for i, rank in poor[:8])
    more = f" and {len(poor) - 8} more" if len(poor) > 8 else ""
    return f"dependent start vectors filled up with noise; independent ones in problem: {listed}{more}"
