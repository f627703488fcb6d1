"""Blocked Davidson for the lowest pairs of batches of generalised Hermitian problems.

Equations and choices: docs/equations/davidson.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import inf
from typing import Any

import torch
from torch.nn.functional import pad

from eigenwerk.linalg.bands.subspace import Subspace, ritz_subspace, subspace
from eigenwerk.linalg.dense import DenseEigh, Overlap, dense_eigh, growth_limit
from eigenwerk.linalg.images import Images, images, images_of_parts, projections_of
from eigenwerk.linalg.limits import Limits
from eigenwerk.linalg.operator import ALL, EigenResult, Operator, Which, which_of
from eigenwerk.linalg.orthogonal import complement, moved
from eigenwerk.linalg.products import norms
from eigenwerk.linalg.ritz import check_finite, checked_ritz, first_ritz

LEAVING_SHARE = 0.25
"""Share of the problems that must be finished before they leave the batch: leaving copies the rest."""


def davidson(
    operator: Operator,
    start_knx: torch.Tensor | None,
    *,
    expansions: float = 2,
    tolerance: float | torch.Tensor = 0.0,
    wanted_weight_kn: torch.Tensor | None = None,
    max_space: int = 3,
    final_residual: bool = True,
    eigh: DenseEigh = dense_eigh,
    proj_kni: torch.Tensor | None = None,
    relative: bool = False,
    products: float = inf,
    resume: DavidsonState | None = None,
    watch: Watch | None = None,
) -> EigenResult:
    """The lowest n pairs of H x = e S x, from n start vectors per problem.

    Rayleigh-Ritz in the start vectors; then, `expansions` times at most: residuals r = H x - e S x,
    preconditioned and normalised, join the space [X, P1, P2, ...]; Rayleigh-Ritz in it.  H is
    applied once per start vector and once per new vector, and again where the new vectors nearly
    depend on the space or rounding errors have grown (nearly full spaces; `_grown`, `_true_images`).
    Source: E. R. Davidson, J. Comput. Phys. 17, 87 (1975); the blocked form in G. Kresse and
    J. Furthmueller, Phys. Rev. B 54, 11169 (1996), section IV.

    start_knx: (k, n, x), any length, dependent vectors allowed (they are replaced, with a note).
    tolerance: a number or (k, n), on the 2-norm of the residual; 0 never stops early.  Bands at the
    tolerance, or at the rounding errors of the residual, are not expanded further.
    wanted_weight_kn: (k, n); a problem is finished when its bands of weight > 0 are converged.
    max_space: the space restarts from the Ritz vectors and their last directions before it exceeds
    this multiple of n (at least 3; 2 restarts from the Ritz vectors alone).  3 is LOBPCG: A. V. Knyazev, SIAM J. Sci.
    Comput. 23, 517 (2001), with the directions of U. Hetmaniuk and R. Lehoucq, J. Comput. Phys. 218, 324 (2006).
    final_residual: False saves two matrix products of the last step; residuals are then those
    before the last expansion.
    proj_kni: P x of the start vectors, if an earlier call has returned it (`SplitOperator`).
    relative: the tolerance is on the residual over max(1, |e|).  products: no step begins when H has been applied to
    so many vectors.
    watch: called before every expansion with the state, whose arrays live on unchanged.  resume: such a state of an
    earlier call in place of start vectors; the run continues as if it had not stopped.
    Returns EigenResult.  Raises ConvergenceError if the operator returns numbers that are not finite.
    """
    batch = _begun(operator, start_knx, eigh, proj_kni) if resume is None else resume
    limits = Limits.of(tolerance, wanted_weight_kn, batch.eig_kn, relative)
    finished = _Finished.like(batch)
    while batch.iterations < expansions and batch.applications < products:
        rest = finished.rest(batch, limits, batch.residual(operator))
        if rest is None:
            break
        batch, open_kn, residual_knx, chosen = rest
        batch = _with_room(operator, batch, open_kn[:, chosen].shape[1], max_space, eigh)
        if watch is not None:
            watch(batch)
        new = _new_directions(operator, batch, residual_knx, open_kn, chosen)
        del rest, residual_knx
        last = batch.iterations == expansions - 1 and not final_residual
        batch = _expanded(operator, batch, new, vectors_only=last, eigh=eigh)
    else:
        if final_residual:
            batch.residual(operator)
    return finished.result(batch, limits)


@dataclass
class DavidsonState:
    """The problems still at work: Ritz pairs, the space they were found in and their coefficients there.

    ritz_drift_kn, space_drift_km: `_drift` of the Ritz vectors' images and of those of the space's first
    vectors, kept from the first restart on; before it every image in the space comes from H itself.
    """

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
    ritz_drift_kn: torch.Tensor | None = None
    space_drift_km: torch.Tensor | None = None

    def residual(self, operator: Operator) -> torch.Tensor:
        """H x - e S x (k, n, x); remembers the norms."""
        residual_knx = self.ritz.residual(self.eig_kn, self.which)
        self.residual_kn = norms(residual_knx, operator.sum).masked_fill(self.missing_kn, float("inf"))
        return residual_knx

    def problems(self, k: torch.Tensor) -> DavidsonState:
        """The batch with only the problems of these positions."""
        index_k = self.index_k[k]
        return replace(
            self,
            ritz=self.ritz.problems(k),
            eig_kn=self.eig_kn[k],
            space=self.space.problems(k),
            c_kmn=self.c_kmn[k],
            index_k=index_k,
            which=which_of(index_k),
            residual_kn=self.residual_kn[k],
            missing_kn=self.missing_kn[k],
            ritz_drift_kn=None if self.ritz_drift_kn is None else self.ritz_drift_kn[k],
            space_drift_km=None if self.space_drift_km is None else self.space_drift_km[k],
        )

    def tree(self) -> dict[str, Any]:
        """All that the iteration needs to continue, as arrays and numbers, before an expansion of the whole block.

        The coefficients are not among it: a restart alone needs them, and there is none between two expansions.
        """
        others = [block.parts for block in self.space.blocks if block is not self.ritz]
        names = "eig_kn", "residual_kn", "missing_kn", "applications", "iterations", "notes"
        tree = {name: getattr(self, name) for name in (*names, "ritz_drift_kn", "space_drift_km")}
        space = {"h_kmm": self.space.h_kmm, "s_kmm": self.space.s_kmm}
        return tree | space | {"ritz": self.ritz.parts, "others": others}

    @staticmethod
    def of(operator: Operator, tree: Mapping[str, Any]) -> DavidsonState:
        """The state of a `tree`."""
        rest = dict(tree)
        ritz, *others = (images_of_parts(operator, parts) for parts in (rest.pop("ritz"), *rest.pop("others")))
        h_kmm, s_kmm = rest.pop("h_kmm"), rest.pop("s_kmm")
        vectors = sum(block.x_knx.shape[1] for block in others)
        blocks = (*others,) if vectors == h_kmm.shape[-1] else (ritz, *others)
        eig_kn = rest["eig_kn"]
        index_k = torch.arange(len(eig_kn), device=eig_kn.device)
        return DavidsonState(
            ritz, space=Subspace(blocks, h_kmm, s_kmm), c_kmn=h_kmm[..., :0], index_k=index_k, which=ALL, **rest
        )


Watch = Callable[[DavidsonState], None]


@dataclass
class _Finished:
    """Answers of all problems of the block, filled as they leave the batch."""

    eig_kn: torch.Tensor
    residual_kn: torch.Tensor
    missing_kn: torch.Tensor
    vectors_knx: torch.Tensor | None = None
    proj_kni: torch.Tensor | None = None

    @staticmethod
    def like(batch: DavidsonState) -> _Finished:
        return _Finished(batch.eig_kn, torch.full_like(batch.eig_kn, float("inf")), batch.missing_kn)

    def rest(
        self, batch: DavidsonState, limits: Limits, residual_knx: torch.Tensor
    ) -> tuple[DavidsonState, torch.Tensor, torch.Tensor, Which] | None:
        """What is still to be done: the batch, its open bands, their residuals, and the bands that are open in any
        problem; None where all is finished."""
        open_kn = limits.open(batch.residual_kn, batch.eig_kn, batch.missing_kn, batch.which)
        if not limits.active:
            return batch, open_kn, residual_knx, ALL
        done_k = limits.done(open_kn, batch.which)
        # what is finished stands still, so that answers do not depend on which problems share a block
        open_kn = open_kn & ~done_k.unsqueeze(-1)
        if bool(done_k.all()):
            return None
        batch, open_kn, residual_knx = self.leave(batch, done_k, open_kn, residual_knx)
        return batch, open_kn, residual_knx, ALL if bool((open_n := open_kn.any(0)).all()) else open_n.nonzero()[:, 0]

    def leave(
        self, batch: DavidsonState, done_k: torch.Tensor, open_kn: torch.Tensor, residual_knx: torch.Tensor
    ) -> tuple[DavidsonState, torch.Tensor, torch.Tensor]:
        """Store what is finished and return the rest, if enough is finished to be worth the copy."""
        if int(done_k.sum()) < max(1, LEAVING_SHARE * len(done_k)):
            return batch, open_kn, residual_knx
        self.store(batch.problems(done_k.nonzero()[:, 0]))
        stay = (~done_k).nonzero()[:, 0]
        return batch.problems(stay), open_kn[stay], residual_knx[stay]

    def store(self, batch: DavidsonState) -> None:
        """Write the batch's pairs to their places (in copies: the fields start as the batch's own)."""
        index = batch.index_k
        if self.vectors_knx is None:
            self.vectors_knx = _empty_of_all(batch.ritz.x_knx, len(self.eig_kn))
        self.vectors_knx[index] = batch.ritz.x_knx
        if (proj_kni := projections_of(batch.ritz)) is not None:
            self.proj_kni = _empty_of_all(proj_kni, len(self.eig_kn)) if self.proj_kni is None else self.proj_kni
            self.proj_kni[index] = proj_kni
        self.eig_kn = self.eig_kn.index_copy(0, index, batch.eig_kn)
        self.residual_kn = self.residual_kn.index_copy(0, index, batch.residual_kn)
        self.missing_kn = self.missing_kn.index_copy(0, index, batch.missing_kn)

    def result(self, batch: DavidsonState, limits: Limits) -> EigenResult:
        """The answer for the whole block; without a copy when no problem left."""
        if self.vectors_knx is None:
            self.eig_kn, self.residual_kn, self.vectors_knx = batch.eig_kn, batch.residual_kn, batch.ritz.x_knx
            self.missing_kn, self.proj_kni = batch.missing_kn, projections_of(batch.ritz)
        else:
            self.store(batch)
        converged_kn = (self.residual_kn <= limits.bound(self.eig_kn)) & ~self.missing_kn
        return EigenResult(
            self.eig_kn, self.vectors_knx, self.residual_kn, batch.applications, batch.iterations, converged_kn,
            batch.notes, self.proj_kni,
        )  # fmt: skip


def _empty_of_all(some_knx: torch.Tensor, problems: int) -> torch.Tensor:
    return some_knx.new_empty((problems, *some_knx.shape[1:]))


def _begun(
    operator: Operator, start_knx: torch.Tensor | None, eigh: DenseEigh, proj_kni: torch.Tensor | None
) -> DavidsonState:
    """All problems, with the space of their first Ritz vectors."""
    if start_knx is None:
        raise ValueError("davidson needs start vectors or a state to resume")
    first = first_ritz(operator, start_knx, eigh, proj_kni)
    space = ritz_subspace(first.images, first.eig_kn, first.missing_kn)
    c_knn = torch.diag_embed(torch.ones_like(first.eig_kn)).to(space.h_kmm.dtype)
    index_k = torch.arange(len(first.eig_kn), device=first.eig_kn.device)
    unknown_kn = torch.full_like(first.eig_kn, float("inf"))
    return DavidsonState(
        first.images, first.eig_kn, space, c_knn, index_k, ALL, unknown_kn, first.missing_kn, first.applications, 0,
        first.notes,
    )  # fmt: skip


def _new_directions(
    operator: Operator, batch: DavidsonState, residual_knx: torch.Tensor, open_kn: torch.Tensor, chosen: Which
) -> Images:
    """Preconditioned residuals of the chosen bands at unit length, with images; zero for bands that are not open."""
    open_kn, residual_knx = open_kn[:, chosen], residual_knx[:, chosen]
    eig_kn, x_knx = batch.eig_kn[:, chosen], batch.ritz.x_knx[:, chosen]
    p_knx = operator.precondition(residual_knx, eig_kn, x_knx, batch.which)
    length_kn = norms(p_knx, operator.sum)
    tiny = torch.finfo(length_kn.dtype).tiny
    # A residual of rounding errors at unit length would be a direction of pure noise.
    factor_kn = length_kn.clamp_min(tiny).reciprocal().masked_fill(~open_kn | (length_kn <= tiny), 0)
    p_knx = p_knx * factor_kn.unsqueeze(-1)
    return images(operator, p_knx, batch.which)


def _with_room(
    operator: Operator, batch: DavidsonState, new: int, max_space: int, eigh: DenseEigh
) -> DavidsonState:
    """The batch, restarted if its space has no room for so many new directions."""
    count = batch.eig_kn.shape[1]
    if batch.space.size + new <= max(max_space, 2) * count:
        return batch
    return _restarted(operator, batch, count if max_space > 2 else 0, eigh)


def _expanded(
    operator: Operator, batch: DavidsonState, new: Images, *, vectors_only: bool, eigh: DenseEigh
) -> DavidsonState:
    """The batch after one Rayleigh-Ritz step in the space with the new directions."""
    problems, count = batch.eig_kn.shape
    space, overlap, extra = _grown(operator, batch, new, eigh)
    eig_km, c_kmm, rank_k = checked_ritz(space, eigh, overlap)
    c_kmn = c_kmm[..., :count]
    ritz = space.rotated_last(c_kmn) if vectors_only else space.rotated(c_kmn)
    batch = replace(
        batch,
        ritz=ritz,
        eig_kn=eig_km[:, :count].to(batch.eig_kn.dtype),
        space=space,
        c_kmn=c_kmn,
        missing_kn=torch.arange(count, device=rank_k.device) >= rank_k.unsqueeze(-1),
        applications=batch.applications + problems * new.x_knx.shape[1] + extra,
        iterations=batch.iterations + 1,
    )
    return batch if vectors_only or batch.space_drift_km is None else _with_true_ritz(operator, batch)


def _grown(operator: Operator, batch: DavidsonState, new: Images, eigh: DenseEigh) -> tuple[Subspace, Overlap, int]:
    """The space with the new directions, its overlap, and how many vectors H was applied to for it.

    Where the new directions nearly depend on the space or on each other, what they add is made
    orthonormal first and H applied to that: taken from H P it would carry the errors of a cancellation.
    """
    space = batch.space.grown(new, operator.sum)
    overlap = Overlap.of(space.s_kmm)
    weak_k = ~(overlap.pivot_k > growth_limit(new.x_knx.dtype))
    if not bool(weak_k.any()):
        return space, overlap, 0
    check_finite(space)
    weak = weak_k.nonzero()[:, 0]
    which = which_of(batch.index_k[weak])
    p_knx = complement(operator, batch.space.problems(weak), new.x_knx[weak], which, eigh=eigh)
    new = new.replaced(weak, images(operator, p_knx, which))
    space = batch.space.grown(new, operator.sum)
    return space, Overlap.of(space.s_kmm), p_knx.shape[0] * p_knx.shape[1]


def _restarted(operator: Operator, batch: DavidsonState, first: int, eigh: DenseEigh) -> DavidsonState:
    """A new space of the Ritz vectors and, unless first = 0, of the directions in which they have moved.

    Those are the parts of the Ritz vectors outside the first `first` vectors; with them a restart
    forgets little (A. V. Knyazev, SIAM J. Sci. Comput. 23, 517 (2001)).
    """
    drift_km = batch.ritz_drift_kn
    if drift_km is None:
        drift_km = torch.ones_like(batch.eig_kn, dtype=torch.float64)
    space, extra = subspace(batch.ritz, operator.sum), 0
    d_kmn = moved(batch.c_kmn, first, batch.space.s_kmm, eigh=eigh) if first else batch.c_kmn[..., :0]
    if d_kmn.shape[-1]:
        drift_kd = _drift(batch.space, batch.space_drift_km, d_kmn)
        directions, drift_kd, extra = _true_images(operator, batch, batch.space.rotated(d_kmn), drift_kd)
        space = space.grown(directions, operator.sum)
        drift_km = torch.cat([drift_km, drift_kd], -1)
    return replace(batch, space=space, space_drift_km=drift_km, applications=batch.applications + extra)


def _drift(space: Subspace, drift_km: torch.Tensor | None, c_kmn: torch.Tensor) -> torch.Tensor:
    """How far images of rotated vectors may have left H and S times the vectors: (k, n), squares in units of eps.

    Errors of the basis vectors' images (1 for those that H was applied to) times the coefficients, and
    those of the rotation itself.
    """
    length_km = space.s_kmm.diagonal(dim1=-2, dim2=-1).real
    if drift_km is not None:
        length_km = length_km * pad(drift_km, (0, space.size - drift_km.shape[-1]), value=1.0)
    return 1 + (length_km.unsqueeze(-2) @ c_kmn.abs().square()).squeeze(-2)


def _true_images(
    operator: Operator, batch: DavidsonState, rotated: Images, drift_kn: torch.Tensor
) -> tuple[Images, torch.Tensor, int]:
    """Images with H and S applied afresh in the problems where they have drifted too far; (.., drift, applications)."""
    far_k = drift_kn.amax(-1) > 1 / growth_limit(rotated.x_knx.dtype)
    if not bool(far_k.any()):
        return rotated, drift_kn, 0
    far = far_k.nonzero()[:, 0]
    x_knx = rotated.x_knx[far]
    fresh = images(operator, x_knx, which_of(batch.index_k[far]))
    return rotated.replaced(far, fresh), drift_kn.masked_fill(far_k.unsqueeze(-1), 1), x_knx.shape[0] * x_knx.shape[1]


def _with_true_ritz(operator: Operator, batch: DavidsonState) -> DavidsonState:
    """The batch whose Ritz vectors' images are right: residuals computed from them can be trusted."""
    drift_kn = _drift(batch.space, batch.space_drift_km, batch.c_kmn)
    ritz, drift_kn, extra = _true_images(operator, batch, batch.ritz, drift_kn)
    return replace(batch, ritz=ritz, ritz_drift_kn=drift_kn, applications=batch.applications + extra)
