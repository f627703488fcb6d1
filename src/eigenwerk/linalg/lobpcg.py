"""LOBPCG for the lowest states of a large symmetric matrix: a block of vectors, no growing basis.

One step looks for the lowest Ritz vectors in the space of X (the present ones), W (preconditioned residuals) and P (the
directions of the last step).  W is made orthogonal to X and P; P comes out orthonormal, because its coefficients are
made so (Hetmaniuk and Lehoucq), so the projected problem is an ordinary one of at most 3 n.  H is applied to W only.
docs/equations/lanczos.md.

Sources: A. V. Knyazev, SIAM J. Sci. Comput. 23, 517 (2001); U. Hetmaniuk and R. Lehoucq, J. Comput. Phys. 218, 324
(2006); for nuclei M. Shao, H. M. Aktulga, C. Yang, E. G. Ng, P. Maris and J. P. Vary, Comput. Phys. Commun. 222, 1
(2018).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from eigenwerk.linalg.operator import EigenResult
from eigenwerk.linalg.symmetric import SymmetricOperator, combined, inner, orthonormalised, project_out

Precondition = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
"""(residual_nx, eig_n) -> an approximation of (H - e)^-1 r, (n, x), up to length.

It should be positive definite: the inverse of a diagonal that lies on both sides of e can stall the iteration."""

REFRESH = 20
"""Every so many steps H X is computed anew instead of combined, so that rounding errors do not pile up."""


@dataclass(frozen=True)
class LobpcgPlan:
    """What is wanted, and when to stop.

    wanted: lowest pairs, at most the block.  tolerance: a pair is converged when |H x - e x| is at most
    tolerance * max(1, |e|).  products: H is applied to at most so many vectors.  first_component: the global index of
    this rank's first component.
    """

    wanted: int
    tolerance: float = 1e-6
    products: int = 4000
    first_component: int = 0


@dataclass(frozen=True)
class LobpcgState:
    """All that the iteration needs to continue, bit for bit: X, H X, P, H P (n, x), and what is known of them.

    eig_n: Ritz values.  residual_n: |H x - e x|.  products, steps: vectors H was applied to; steps.
    """

    x_nx: torch.Tensor
    hx_nx: torch.Tensor
    p_nx: torch.Tensor
    hp_nx: torch.Tensor
    eig_n: torch.Tensor
    residual_n: torch.Tensor
    products: int
    steps: int


Watch = Callable[[LobpcgState], None]


def lobpcg(
    operator: SymmetricOperator,
    start_nx: torch.Tensor | None,
    plan: LobpcgPlan,
    *,
    precondition: Precondition | None = None,
    resume: LobpcgState | None = None,
    watch: Watch | None = None,
) -> EigenResult:
    """The lowest pairs in a block of n vectors; those beyond `plan.wanted` guard the convergence of the last ones.

    start_nx: (n, x), any vectors; left alone.  precondition: None for none.  resume: a state of an earlier call
    instead of start vectors.  watch: called after every step.  Returns `EigenResult` with one problem (k = 1).
    """
    if resume is None and start_nx is None:
        raise ValueError("lobpcg needs start vectors or a state to resume")
    state = resume if resume is not None else _begun(operator, start_nx, plan)
    while not bool(_converged(state, plan).all()) and state.products < plan.products:
        state = _step(operator, state, plan, precondition)
        if watch is not None:
            watch(state)
    return _result(state, plan)


def _begun(operator: SymmetricOperator, start_nx: torch.Tensor | None, plan: LobpcgPlan) -> LobpcgState:
    assert start_nx is not None
    size = int(operator.sum(torch.tensor(start_nx.shape[1], dtype=torch.int64, device=start_nx.device)))
    x_nx = start_nx[:size].clone()
    largest = float(inner(x_nx, x_nx, operator.sum).diagonal().amax()) ** 0.5
    orthonormalised(x_nx[:0], x_nx, largest, operator.sum, plan.first_component)
    hx_nx = operator.apply(x_nx)
    eig_n, c_nn = _eigh(inner(x_nx, hx_nx, operator.sum))
    x_nx, hx_nx = combined(c_nn, x_nx), combined(c_nn, hx_nx)
    residual_n = _lengths(_residual(x_nx, hx_nx, eig_n), operator)
    return LobpcgState(x_nx, hx_nx, x_nx[:0], x_nx[:0], eig_n, residual_n, x_nx.shape[0], 0)


def _converged(state: LobpcgState, plan: LobpcgPlan) -> torch.Tensor:
    wanted = min(plan.wanted, state.eig_n.shape[0])
    return state.residual_n[:wanted] <= plan.tolerance * state.eig_n[:wanted].abs().clamp_min(1)


def _step(
    operator: SymmetricOperator, state: LobpcgState, plan: LobpcgPlan, precondition: Precondition | None
) -> LobpcgState:
    w_nx = _search(operator, state, plan, precondition)
    hw_nx = operator.apply(w_nx) if w_nx.shape[0] else w_nx
    v_mx = torch.cat([state.x_nx, state.p_nx, w_nx])
    hv_mx = torch.cat([state.hx_nx, state.hp_nx, hw_nx])
    eig_m, c_mm = _eigh(inner(v_mx, hv_mx, operator.sum))
    count = state.x_nx.shape[0]
    c_mn = c_mm[:, :count]
    d_mn = _directions(c_mn, count)
    turn_mn = torch.cat([c_mn, d_mn], dim=1)
    new_mx, hnew_mx = combined(turn_mn, v_mx), combined(turn_mn, hv_mx)
    x_nx, hx_nx, products = new_mx[:count], hnew_mx[:count], state.products + w_nx.shape[0]
    if state.steps % REFRESH == REFRESH - 1:
        hx_nx, products = operator.apply(x_nx), products + count
    residual_n = _lengths(_residual(x_nx, hx_nx, eig_m[:count]), operator)
    return LobpcgState(
        x_nx, hx_nx, new_mx[count:], hnew_mx[count:], eig_m[:count], residual_n, products, state.steps + 1
    )


def _search(
    operator: SymmetricOperator, state: LobpcgState, plan: LobpcgPlan, precondition: Precondition | None
) -> torch.Tensor:
    """Preconditioned residuals of the pairs that are not converged, orthonormal and orthogonal to X and P."""
    open_n = state.residual_n > plan.tolerance * state.eig_n.abs().clamp_min(1)
    w_nx = _residual(state.x_nx, state.hx_nx, state.eig_n)[open_n]
    if precondition is not None:
        w_nx = precondition(w_nx, state.eig_n[open_n])
    size = int(operator.sum(torch.tensor(w_nx.shape[1], dtype=torch.int64, device=w_nx.device)))
    basis_mx = torch.cat([state.x_nx, state.p_nx])
    w_nx = w_nx[: max(0, size - basis_mx.shape[0])].clone()
    if w_nx.shape[0]:
        w_nx /= _lengths(w_nx, operator).clamp_min(torch.finfo(w_nx.dtype).tiny).unsqueeze(1).to(w_nx.dtype)
        project_out(basis_mx, w_nx, operator.sum)
        orthonormalised(basis_mx, w_nx, 1.0, operator.sum, plan.first_component)
    return w_nx


def _directions(c_mn: torch.Tensor, count: int) -> torch.Tensor:
    """Coefficients of where X has moved: those outside the old X, orthonormal and orthogonal to the new X; (m, d)."""
    d_mn = c_mn.clone()
    d_mn[:count] = 0
    for _ in range(2):
        d_mn = d_mn - c_mn @ (c_mn.T @ d_mn)
        weight_n, u_nn = _eigh(d_mn.T @ d_mn)
        kept_n = weight_n > 1e-24
        d_mn = (d_mn @ u_nn[:, kept_n]) * weight_n[kept_n].rsqrt()
    return d_mn


def _residual(x_nx: torch.Tensor, hx_nx: torch.Tensor, eig_n: torch.Tensor) -> torch.Tensor:
    return hx_nx - eig_n.to(x_nx.dtype).unsqueeze(1) * x_nx


def _lengths(x_nx: torch.Tensor, operator: SymmetricOperator) -> torch.Tensor:
    """|x_n|, float64."""
    return torch.stack([inner(x_1x, x_1x, operator.sum)[0, 0] for x_1x in x_nx.split(1)]).sqrt()


def _eigh(matrix_mm: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Eigenpairs of the symmetric part, on the processor: the same numbers for every device of the vectors."""
    eig_m, c_mm = torch.linalg.eigh(((matrix_mm + matrix_mm.T) / 2).cpu())
    return eig_m.to(matrix_mm.device), c_mm.to(matrix_mm.device)


def _result(state: LobpcgState, plan: LobpcgPlan) -> EigenResult:
    wanted = min(plan.wanted, state.eig_n.shape[0])
    return EigenResult(
        eig_kn=state.eig_n[:wanted].unsqueeze(0),
        vectors_knx=state.x_nx[:wanted].unsqueeze(0),
        residual_kn=state.residual_n[:wanted].unsqueeze(0),
        applications=state.products,
        iterations=state.steps,
        converged_kn=_converged(state, plan).unsqueeze(0),
    )
