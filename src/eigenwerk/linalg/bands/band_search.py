"""Bands that move by themselves: each has its own few directions, all bands of all problems are worked on at once.

A band x becomes x + sum_i b_i D_i.  Which b is best is what solvers differ in (`rmm_diis`, `conjugate`).
Equations and choices: docs/equations/band_by_band.md.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import torch

from eigenwerk.linalg.dense import DenseEigh
from eigenwerk.linalg.images import Images, images, projections_of
from eigenwerk.linalg.limits import Limits
from eigenwerk.linalg.operator import EigenResult, Operator, Which, which_of
from eigenwerk.linalg.products import norms
from eigenwerk.linalg.ritz import first_ritz, last_ritz

SELECT_SHARE = 0.9
"""Bands and problems at rest leave the work when no more than this share goes on: leaving copies the rest."""

FALLEN = 0.5
"""A band whose residual the usual steps have left at no more than this share gets no further ones."""

LONGEST_STEP = 1.0
"""A band moves by at most this multiple of its length: farther away lies the eigenvector of another band."""


class BandSearch(ABC):
    """Bands that are worked on and their directions D_i, all with images.

    index_k, index_n: their places in the block, in host memory; place: the same on their device, (k, 1) and (n,);
    which: the problems; complete: all of the block, and `bands` is not a copy.  step_knd: b_i, zero where there is no
    direction yet.  tables: inner products (k, n, ...), as many as the solver wants.  now_knx: the
    residuals where the bands are now, None when they have to be computed.  length_kn: of the newest directions before
    they were normalised.
    """

    def __init__(
        self, bands: Images, eig_kn: torch.Tensor, residual_knx: torch.Tensor, residual_kn: torch.Tensor, steps: int
    ):
        self.everything = self.bands = bands
        self.eig_kn, self.residual_kn = eig_kn, residual_kn.nan_to_num(posinf=0)
        self.complete = True
        self._at(*(torch.arange(size) for size in eig_kn.shape))
        self.step_knd = bands.x_knx.new_zeros((*eig_kn.shape, steps))
        self.directions: list[Images] = []
        self.tables: list[torch.Tensor] = []
        self.now_knx: torch.Tensor | None = residual_knx
        self.length_kn = torch.zeros_like(eig_kn)

    @abstractmethod
    def _outside(
        self, operator: Operator, d_knx: torch.Tensor, proj_kni: torch.Tensor | None
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """What is left of the directions, and of P D (`Images.project`), without the bands they must not repeat."""

    @abstractmethod
    def _residuals(self, operator: Operator) -> torch.Tensor:
        """The residuals where the bands are now."""

    def _prepared(self, new: Images, k: Which) -> Images:
        """A new direction in the form in which they are kept."""
        return new

    @abstractmethod
    def _extend(self, operator: Operator, new: Images) -> None:
        """Bring the tables up to date with the newest direction."""

    @abstractmethod
    def choose(self, operator: Operator, eigh: DenseEigh) -> torch.Tensor:
        """Set the steps b; returns the norms of the residuals there, (k, n)."""

    def _at(self, index_k: torch.Tensor, index_n: torch.Tensor) -> None:
        """Where these bands are among all; indices in host memory."""
        device = self.eig_kn.device
        self.index_k, self.index_n = index_k, index_n
        there_k, there_n = (index.to(device, non_blocking=True) for index in (index_k, index_n))
        self.place = there_k[:, None], there_n
        which = which_of(index_k)
        self.which: Which = which if isinstance(which, slice) else there_k

    def put(self, value_kn: torch.Tensor, own_kn: torch.Tensor) -> torch.Tensor:
        """All values, with those of these bands in their places."""
        return value_kn.index_put(self.place, own_kn)

    def select(self, open_kn: torch.Tensor) -> None:
        """Leave out problems and bands with nothing open, if they are enough to be worth it; they are stored.

        open_kn: of all bands, in host memory.
        """
        own_kn = open_kn[self.index_k[:, None], self.index_n]
        k, n = own_kn.any(1).nonzero()[:, 0], own_kn.any(0).nonzero()[:, 0]
        if len(k) * len(n) > SELECT_SHARE * own_kn.numel():
            return
        k_there, n_there = (index.to(self.eig_kn.device, non_blocking=True) for index in (k, n))
        at = (k_there[:, None], n_there)
        staying, directions = self.bands.pairs(*at), [direction.pairs(*at) for direction in self.directions]
        now_knx = None if self.now_knx is None else self.now_knx[at]
        self.store()
        self.bands, self.directions, self.complete = staying, directions, False
        self._at(self.index_k[k], self.index_n[n])
        self.eig_kn, self.residual_kn, self.step_knd = self.eig_kn[at], self.residual_kn[at], self.step_knd[at]
        self.tables = [table[at] for table in self.tables]
        self.now_knx = now_knx
        # the bands that go on stay in their places as they were: what is stored there stays S-orthogonal to them
        self._write(staying)

    def grow(self, operator: Operator, open_kn: torch.Tensor) -> int:
        """One more direction, zero for the bands that are not open; returns how many vectors H was applied to."""
        which = self.which
        now_knx = self._residuals(operator) if self.now_knx is None else self.now_knx
        d_knx = operator.precondition(now_knx, self.eig_kn, self.bands.x_knx, which)
        d_knx, proj_kni = self._outside(operator, d_knx, self.bands.project(d_knx, which))
        length_kn = norms(d_knx, operator.sum)
        tiny = torch.finfo(length_kn.dtype).tiny
        at_rest_kn = ~open_kn[self.place] | (length_kn <= tiny)
        self.length_kn = length_kn.masked_fill(at_rest_kn, 0)
        factor_kn1 = length_kn.clamp_min(tiny).reciprocal().masked_fill(at_rest_kn, 0).unsqueeze(-1)
        d_knx *= factor_kn1
        if proj_kni is not None:
            proj_kni *= factor_kn1
        new = self._prepared(images(operator, d_knx, which, proj_kni), which)
        self.directions.append(new)
        self._extend(operator, new)
        return d_knx.shape[0] * d_knx.shape[1]

    def limited(self, step_knd: torch.Tensor) -> torch.Tensor:
        """Steps of at most `LONGEST_STEP`."""
        return step_knd * (LONGEST_STEP / step_knd.abs().sum(-1, keepdim=True).clamp_min(LONGEST_STEP))

    def moved(self, part: int) -> torch.Tensor:
        """One of the tensors of the bands' images where the bands are now."""
        total_knx = self.bands.parts[part]
        for step_kn, direction in self._steps():
            total_knx = torch.addcmul(total_knx, step_kn.unsqueeze(-1), direction.parts[part])
        return total_knx

    def store(self) -> None:
        """Move the bands, and write them to their places among all bands; these directions are used up then."""
        for step_kn, direction in self._steps():
            for own_knx, d_knx in zip(self.bands.parts, direction.parts, strict=True):
                own_knx.addcmul_(step_kn.unsqueeze(-1), d_knx)
        if not self.complete:
            self._write(self.bands)

    def finished(self, eig_kn: torch.Tensor) -> Images:
        """All bands in their new places, with images under H and S; eig_kn: where they began."""
        self.store()
        return self.everything

    def _write(self, own: Images) -> None:
        for all_knx, own_knx in zip(self.everything.parts, own.parts, strict=True):
            all_knx[self.place] = own_knx

    def _steps(self) -> list[tuple[torch.Tensor, Images]]:
        return list(zip(self.step_knd.unbind(-1), self.directions, strict=False))


def search(
    kind: Callable[[Images, torch.Tensor, torch.Tensor, torch.Tensor, int], BandSearch],
    operator: Operator,
    start_knx: torch.Tensor,
    *,
    steps: int,
    tolerance: float | torch.Tensor,
    wanted_weight_kn: torch.Tensor | None,
    final_residual: bool,
    eigh: DenseEigh,
    usual_steps: int | None = None,
    proj_kni: torch.Tensor | None = None,
) -> EigenResult:
    """Rayleigh-Ritz, at most `steps` directions for each band that is open, Rayleigh-Ritz; see `rmm_diis`.

    usual_steps: after so many only those bands go on whose residuals have not fallen enough (`FALLEN`).
    """
    first = first_ritz(operator, start_knx, eigh, proj_kni)
    eig_kn, missing_kn, applications = first.eig_kn, first.missing_kn, first.applications
    residual_knx = first.images.residual(eig_kn)
    residual_kn = norms(residual_knx, operator.sum).masked_fill(missing_kn, float("inf"))
    limits = Limits.of(tolerance, wanted_weight_kn, eig_kn)
    first_residual_kn, open_kn = residual_kn, limits.open(residual_kn, eig_kn, missing_kn)
    if limits.active:
        # what is finished stands still, so that answers do not depend on which problems share a block
        open_kn = open_kn & ~limits.done(open_kn).unsqueeze(-1)
    work, step = kind(first.images, eig_kn, residual_knx, residual_kn, steps), 0
    del residual_knx
    while step < steps:
        open_there = open_kn.cpu()  # asked once for a direction: to ask a GPU is to wait for it
        if not bool(open_there.any()):
            break
        work.select(open_there)
        applications += work.grow(operator, open_kn)
        residual_kn = work.put(residual_kn, work.choose(operator, eigh))
        open_kn = open_kn & limits.wanted_kn & limits.open(residual_kn, eig_kn, missing_kn)
        step += 1
        if usual_steps is not None and step >= usual_steps:
            open_kn = open_kn & (residual_kn > FALLEN * first_residual_kn)
    last = last_ritz(operator, work.finished(eig_kn), missing_kn, eigh, vectors_only=not final_residual)
    if final_residual:
        residual_kn = norms(last.images.residual(last.eig_kn), operator.sum)
    residual_kn = residual_kn.masked_fill(last.missing_kn, float("inf"))
    return EigenResult(
        last.eig_kn, last.images.x_knx, residual_kn, applications + last.applications, step,
        residual_kn <= limits.tolerance_kn, (*first.notes, *last.notes), projections_of(last.images),
    )  # fmt: skip
