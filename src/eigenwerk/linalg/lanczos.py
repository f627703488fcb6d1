"""Lanczos and block Lanczos with full reorthogonalisation, for the lowest states of a large symmetric matrix.

One step applies H to the newest block q of n vectors, takes out of H q what lies in the basis V (two passes of
Gram-Schmidt, whose coefficients are the new columns of V^T H V), and orthonormalises the rest: the next block.
Ritz pairs are those of V^T H V; the residual of pair i is |C s_i| with C = <next|H|V>.  When the basis is full it
restarts from its lowest Ritz vectors and the next block (thick restart), which loses nothing of the Krylov space that
matters.  docs/equations/lanczos.md.

Sources: C. Lanczos, J. Res. Natl. Bur. Stand. 45, 255 (1950); G. Golub and R. Underwood, in Mathematical Software III
(1977); K. Wu and H. Simon, SIAM J. Matrix Anal. Appl. 22, 602 (2000).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import inf

import torch

from eigenwerk.linalg.dense import DenseEigh, host_eigh
from eigenwerk.linalg.limits import relative_bound
from eigenwerk.linalg.operator import EigenResult, Operator
from eigenwerk.linalg.orthogonal import longest, orthonormalise, project_out_of
from eigenwerk.linalg.products import combine_long, inner
from eigenwerk.linalg.unseen import expected_unseen, remembered
from eigenwerk.record.trace import Trace


@dataclass(frozen=True)
class LanczosPlan:
    """What is wanted, and when to stop.

    wanted: lowest pairs.  tolerance: a pair is converged when its residual is at most tolerance * max(1, |e|).
    unseen: goes on until so few levels are expected to be missing below the highest wanted one (`unseen`): a level of
    which the start vector holds little appears late, and others converge as if it did not exist; None: does not ask.
    variance: of the overlap of a start vector with any vector of length one, times their number of components; 1 for
    noise.  unseen_share: that takes at most so many more products, relative to those before.
    products: H is applied to at most so many vectors (and to exactly so many with `fixed`).  space: vectors kept in
    memory.  first_component: the global index of this rank's first component.  eigh: solves the small dense problems;
    trace: gets the spans of the solver.
    """

    wanted: int
    tolerance: float = 1e-6
    products: int = 1000
    fixed: bool = False
    space: int = 200
    unseen: float | None = None
    variance: float = 1.0
    unseen_share: float = inf
    first_component: int = 0
    eigh: DenseEigh = host_eigh
    trace: Trace = field(default_factory=lambda: Trace(enabled=False))


@dataclass(frozen=True)
class LanczosState:
    """All that the process needs to continue, bit for bit.

    basis_mx: room for all vectors; the first `filled` are the basis V, the next `pending` the next block.
    projected_mm: V^T H V, float64, its first `filled` rows and columns.  coupling_nm: (pending, filled) <next|H|V>.
    products: vectors H was applied to.  steps, restarts: so far.  eig_m, residual_m: Ritz values and residuals
    of V, ascending.  origin: the rows of V from here on are the start vectors, after a restart the block that was next
    then; past_xm: of bases before restarts, see `unseen.remembered`.  sure: products when the wanted pairs came to be
    converged, 0 before; later ones make sure that none is missed.  The small arrays are in host memory: a GPU would
    wait for each of many short operations.
    """

    basis_mx: torch.Tensor
    projected_mm: torch.Tensor
    coupling_nm: torch.Tensor
    filled: int
    pending: int
    products: int
    steps: int
    restarts: int
    eig_m: torch.Tensor
    residual_m: torch.Tensor
    past_xm: torch.Tensor
    origin: int = 0
    sure: int = 0


Watch = Callable[[LanczosState], None]


def lanczos(
    operator: Operator,
    start_knx: torch.Tensor | None,
    plan: LanczosPlan,
    *,
    resume: LanczosState | None = None,
    watch: Watch | None = None,
) -> EigenResult:
    """The lowest pairs of one real problem with S = 1; one start vector makes plain Lanczos, n block Lanczos.

    start_knx: (1, n, x), any vectors; left alone.  resume: a state of an earlier call instead; the run then continues
    as if it had not stopped.  watch: called after every step (and restart) with the state, whose arrays live on.
    Returns `EigenResult` with one problem (k = 1), fewer pairs than wanted when the matrix is smaller.
    """
    state = resume if resume is not None else _begun(operator, _required(start_knx), plan)
    size = _size(operator, state.basis_mx)
    while not _done(state, plan, size):
        if state.filled + 2 * state.pending > state.basis_mx.shape[0]:
            with plan.trace.span("restart"):
                state = _restarted(state, plan)
        state = _step(operator, state, plan, size)
        if not state.sure and state.filled >= plan.wanted and bool(_converged(state, plan).all()):
            state = replace(state, sure=state.products)
        if watch is not None:
            watch(state)
    return _result(state, plan)


def _required(start_knx: torch.Tensor | None) -> torch.Tensor:
    if start_knx is None or len(start_knx) != 1:
        raise ValueError("lanczos needs start vectors of one problem, or a state to resume")
    return start_knx[0]


def _begun(operator: Operator, start_nx: torch.Tensor, plan: LanczosPlan) -> LanczosState:
    size = _size(operator, start_nx)
    block = min(start_nx.shape[0], size)
    rows = min(max(plan.space, plan.wanted + 3 * block), size) + block
    basis_mx = start_nx.new_zeros((rows, start_nx.shape[1]))
    basis_mx[:block] = start_nx[:block]
    scale = longest(start_nx[:block], operator.sum)
    orthonormalise(basis_mx[:0], basis_mx[:block], scale, operator.sum, plan.first_component)
    empty = torch.zeros(0, dtype=torch.float64)
    projected_mm = torch.zeros((rows, rows), dtype=torch.float64)
    past_xm = torch.zeros((2 + 2 * block, 0), dtype=torch.float64)
    return LanczosState(basis_mx, projected_mm, empty.reshape(block, 0), 0, block, 0, 0, 0, empty, empty, past_xm)


def _size(operator: Operator, x_nx: torch.Tensor) -> int:
    """The number of components of all ranks."""
    return int(operator.sum(torch.tensor(x_nx.shape[1], dtype=torch.int64, device=x_nx.device)))


def _done(state: LanczosState, plan: LanczosPlan, size: int) -> bool:
    if state.pending == 0 or state.products >= plan.products:
        return True
    if plan.fixed or state.filled < plan.wanted or not bool(_converged(state, plan).all()):
        return False
    if plan.unseen is None or (state.sure and state.products >= state.sure * (1 + plan.unseen_share)):
        return True
    return state.filled > plan.wanted and _unseen(state, plan, size) <= plan.unseen


def _unseen(state: LanczosState, plan: LanczosPlan, size: int) -> float:
    """The expected number of missing levels."""
    eig_m, s_mm = (array.numpy() for array in _ritz(state, plan))
    block = (len(state.past_xm) - 2) // 2
    start_bm, coupling_pm = s_mm[state.origin : state.origin + block], state.coupling_nm.numpy() @ s_mm
    return expected_unseen(eig_m, start_bm, coupling_pm, state.past_xm.numpy(), plan.wanted, plan.variance / size)


def _converged(state: LanczosState, plan: LanczosPlan) -> torch.Tensor:
    return state.residual_m[: plan.wanted] <= relative_bound(plan.tolerance, state.eig_m[: plan.wanted])


def _step(operator: Operator, state: LanczosState, plan: LanczosPlan, size: int) -> LanczosState:
    """H on the next block; it joins the basis, and what H adds to the basis becomes the next one."""
    old, new = state.filled, state.filled + state.pending
    w_nx = operator.apply(state.basis_mx[old:new].unsqueeze(0))[0][0]
    with plan.trace.span("orthogonalisation"):
        state = _extended(operator, state, plan, w_nx, size)
    eig_m, s_mm = _ritz(state, plan)
    return replace(state, eig_m=eig_m, residual_m=torch.linalg.vector_norm(state.coupling_nm @ s_mm, dim=0))


def _extended(
    operator: Operator, state: LanczosState, plan: LanczosPlan, w_nx: torch.Tensor, size: int
) -> LanczosState:
    """The newest block in the basis; w = H q made orthonormal to all of it is the next one.

    size: components of all ranks.  Three sums over ranks for one vector, and the processor waits for the last alone.
    """
    old, new = state.filled, state.filled + state.pending
    basis_mx = state.basis_mx[:new]
    column_mn, gram_nn = project_out_of(basis_mx, w_nx, operator.sum)
    pending = min(state.pending, size - new)
    next_nx = state.basis_mx[new : new + pending]
    next_nx.copy_(w_nx[:pending])
    r_nn = orthonormalise(basis_mx, next_nx, gram_nn.diagonal().amax().sqrt(), operator.sum, plan.first_component)
    if pending < len(w_nx):  # <next|w> of a shrunken last block
        r_nn = operator.sum(inner(next_nx, w_nx, in_double=True))
    column_mn, r_nn = column_mn.cpu(), r_nn.cpu()
    state.projected_mm[:new, old:new] = column_mn
    state.projected_mm[old:new, :new] = column_mn.T
    state.projected_mm[old:new, old:new] = (column_mn[old:new] + column_mn[old:new].T) / 2
    coupling_nm = torch.zeros((pending, new), dtype=torch.float64)
    coupling_nm[:, old:new] = r_nn
    products, steps = state.products + new - old, state.steps + 1
    return replace(state, filled=new, pending=pending, coupling_nm=coupling_nm, products=products, steps=steps)


def _ritz(state: LanczosState, plan: LanczosPlan) -> tuple[torch.Tensor, torch.Tensor]:
    """Eigenpairs of V^T H V."""
    eig_km, s_kmm = plan.eigh(state.projected_mm[None, : state.filled, : state.filled])
    return eig_km[0], s_kmm[0]


def _restarted(state: LanczosState, plan: LanczosPlan) -> LanczosState:
    """The lowest Ritz vectors and the next block; V^T H V is diagonal then, and C keeps what couples them."""
    room = state.basis_mx.shape[0] - 2 * state.pending
    kept = max(1, min(plan.wanted + max(state.pending, (room - plan.wanted) // 2), room, state.filled))
    eig_m, s_mm = _ritz(state, plan)
    start_bm = s_mm[state.origin : state.origin + (len(state.past_xm) - 2) // 2]
    gone_xm = remembered(eig_m.numpy(), start_bm.numpy(), (state.coupling_nm @ s_mm).numpy(), state.restarts)
    next_nx = state.basis_mx[state.filled : state.filled + state.pending].clone()
    combine_long(s_mm[:, :kept].to(next_nx.device), state.basis_mx[: state.filled], out=state.basis_mx[:kept])
    state.basis_mx[kept : kept + state.pending] = next_nx
    state.projected_mm.zero_()
    state.projected_mm[:kept, :kept] = torch.diag(eig_m[:kept])
    return replace(
        state,
        coupling_nm=state.coupling_nm @ s_mm[:, :kept],
        filled=kept,
        restarts=state.restarts + 1,
        eig_m=eig_m[:kept],
        residual_m=state.residual_m[:kept],
        past_xm=torch.cat([state.past_xm, torch.from_numpy(gone_xm)], dim=1),
        origin=kept,
    )


def _result(state: LanczosState, plan: LanczosPlan) -> EigenResult:
    eig_m, s_mm = _ritz(state, plan)
    notes = [f"{state.restarts} thick restarts"] * (state.restarts > 0)
    if plan.unseen is not None and 0 < state.sure < state.products:
        more = state.products - state.sure
        notes.append(f"{more} of the {state.products} products make sure that no level is missed")
    wanted, device = min(plan.wanted, state.filled), state.basis_mx.device
    vectors_nx = combine_long(s_mm[:, :wanted].to(device), state.basis_mx[: state.filled])
    return EigenResult(
        eig_kn=eig_m[:wanted].unsqueeze(0).to(device),
        vectors_knx=vectors_nx.unsqueeze(0),
        residual_kn=state.residual_m[:wanted].unsqueeze(0).to(device),
        applications=state.products,
        iterations=state.steps,
        converged_kn=_converged(state, plan)[:wanted].unsqueeze(0).to(device),
        notes=tuple(notes),
    )
