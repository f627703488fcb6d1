"""States that are mixtures of several J at one energy, taken apart.

At one energy the solver finds any combination of the states there: of a level that is degenerate (without Lawson's
term every excitation of the centre of mass, coupled to J - L .. J + L) it sees only what its start vectors hold.
J^2 commutes with H, so powers of J^2 on such a vector span its parts with one J, which are states of the same energy.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch

from eigenwerk.linalg.dense import DenseEigh, host_eigh
from eigenwerk.linalg.limits import relative_bound
from eigenwerk.linalg.operator import EigenResult
from eigenwerk.linalg.products import Reduce, inner
from eigenwerk.ncci.results.levels import KNOWN, spin_of

CLOSE = 1e-3
"""Energies (MeV) within which states belong to one level."""

LEAST_PART = {torch.float32: 1e-3, torch.float64: 1e-5}
"""What J^2 adds to the space of a level is noise where it is shorter than this, relative to what J^2 made."""

OFF = {torch.float32: 1e-4, torch.float64: 1e-6}
"""<J^2> of a state may differ so much from j (j + 1) by rounding.  A mixture differs by the square of its smaller part
only, but moments and transitions by that part itself: one of 3 % moves <J^2> by 0.003, and mu by a fifth."""

MOST_PARTS = 12
"""Powers of J^2 that are tried."""

Product = Callable[[torch.Tensor], torch.Tensor]
"""An operator on vectors (n, b)."""


@dataclass(frozen=True)
class Shared:
    """What vectors whose components several ranks share need: the sum over ranks, and a solver of small problems whose
    answers are the same bits on all of them."""

    sum: Reduce = lambda tensor: tensor
    eigh: DenseEigh = host_eigh

    def products(self, x_nb: torch.Tensor, y_mb: torch.Tensor) -> torch.Tensor:
        """<x_n|y_m>, float64."""
        return self.sum(inner(x_nb, y_mb, in_double=True))

    def eigenpairs(self, matrix_nn: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Rising eigenvalues and columns."""
        eig_1n, columns_1nn = self.eigh(((matrix_nn + matrix_nn.T) / 2)[None])
        return eig_1n[0], columns_1nn[0]


def mixed(square_n: np.ndarray, residual_n: np.ndarray, nucleons: int, number: torch.dtype) -> np.ndarray:
    """(n,) which of the states with these <J^2> and residuals (MeV) are mixtures of several J; number: of vectors."""
    shift = nucleons % 2 / 2
    j_n = np.rint(spin_of(square_n) - shift) + shift
    return (np.abs(square_n - j_n * (j_n + 1)) > OFF[number]) & (residual_n <= KNOWN)


def separated(
    found: EigenResult, mixed_n: np.ndarray, h: Product, j_squared: Product, tolerance: float, shared: Shared
) -> EigenResult:
    """The states, with every level that has a mixture in states of one J each; there may be more than before.

    mixed_n: see `mixed`, of converged states alone; another one is a mixture because it is no state yet.  h, j_squared:
    products of H and J^2.  tolerance: of the solver.  A part of a mixture is a state if its residual is at most ten
    times what the solver was asked for: that much the division by its length may add.
    """
    eig_n, vectors_nb = found.eig_kn[0].cpu().numpy(), found.vectors_knx[0]
    groups = np.split(np.arange(len(eig_n)), np.flatnonzero(np.diff(eig_n) > CLOSE) + 1)
    parts, slack, products = [], [], found.applications
    for group in groups:
        part_nb, factor = vectors_nb[group[0] : group[-1] + 1], 1.0
        if mixed_n[group].any():
            apart_nb = _by_spin(part_nb, h, j_squared, shared)
            products += 2 * len(apart_nb)
            energies, residual = residuals(apart_nb, h, shared)
            # small parts of states at other energies, which J^2 finds too, are none of this level
            here = (energies >= eig_n[group[0]] - CLOSE) & (energies <= eig_n[group[-1]] + CLOSE)
            apart_nb = apart_nb[here & (residual <= 10 * relative_bound(tolerance, energies))]
            part_nb, factor = (apart_nb, 10.0) if len(apart_nb) >= len(part_nb) else (part_nb, 1.0)
        parts.append(part_nb)
        slack += [factor] * len(part_nb)
    result_nb = torch.cat(parts)
    eig, residual = residuals(result_nb, h, shared)
    limit = relative_bound(tolerance, eig) * torch.tensor(slack, dtype=eig.dtype, device=eig.device)
    return replace(
        found, eig_kn=eig[None], vectors_knx=result_nb[None], residual_kn=residual[None],
        converged_kn=(residual <= limit)[None], applications=products + len(result_nb), proj_kni=None,
    )  # fmt: skip


def residuals(x_nb: torch.Tensor, h: Product, shared: Shared) -> tuple[torch.Tensor, torch.Tensor]:
    """<x|H|x> and |H x - <H> x|, float64; with the rounding of the product, which solvers do not see."""
    image_nb = h(x_nb).double()
    eig_n = shared.sum((x_nb.double() * image_nb).sum(dim=1))
    rest_nb = image_nb - eig_n[:, None] * x_nb.double()
    return eig_n, shared.sum(rest_nb.square().sum(dim=1)).sqrt()


def _by_spin(x_nb: torch.Tensor, h: Product, j_squared: Product, shared: Shared) -> torch.Tensor:
    """Vectors (m, b) of one J each, and of one energy among those of equal J, that span powers of J^2 on x."""
    space_nb, image_nb = _orthonormal(x_nb[:0], x_nb, shared), x_nb[:0]
    for _ in range(MOST_PARTS):
        newest_nb = j_squared(space_nb[len(image_nb) :])
        image_nb = torch.cat([image_nb, newest_nb])
        added_nb = _orthonormal(space_nb, newest_nb, shared)
        if not len(added_nb):
            break
        space_nb = torch.cat([space_nb, added_nb])
    image_nb = torch.cat([image_nb, *([j_squared(space_nb[len(image_nb) :])] if len(image_nb) < len(space_nb) else [])])
    square_n, turn_nn = shared.eigenpairs(shared.products(space_nb, image_nb))
    space_nb = turn_nn.T.to(space_nb) @ space_nb
    twice_n = np.rint(2 * spin_of(square_n.cpu().numpy()))
    for same in np.split(np.arange(len(twice_n)), np.flatnonzero(np.diff(twice_n)) + 1):
        if len(same) > 1:
            part_nb = space_nb[same[0] : same[-1] + 1]
            turn_nn = shared.eigenpairs(shared.products(part_nb, h(part_nb)))[1]
            space_nb[same[0] : same[-1] + 1] = turn_nn.T.to(part_nb) @ part_nb
    return space_nb


def _orthonormal(space_nb: torch.Tensor, x_nb: torch.Tensor, shared: Shared) -> torch.Tensor:
    """Orthonormal vectors of what x has beyond an orthonormal space, without what is noise.

    From the eigenvectors of <x|x>, twice: the first time leaves errors of 1 / `LEAST_PART`^2 roundings.
    """
    long_nb, space_nb = x_nb.double(), space_nb.double()
    scale = shared.products(long_nb, long_nb).diagonal().max().sqrt()
    for _ in range(2):
        long_nb = long_nb - shared.products(space_nb, long_nb).T @ space_nb
    for least in (LEAST_PART[x_nb.dtype] * scale, 0.5):
        if not len(long_nb):
            break
        square_n, turn_nn = shared.eigenpairs(shared.products(long_nb, long_nb))
        kept_n = square_n > least**2
        long_nb = (turn_nn[:, kept_n] / square_n[kept_n].sqrt()).T @ long_nb
    return long_nb.to(x_nb)
