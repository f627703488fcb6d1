"""How long does it take to find the lowest states of a nucleus, by which solver, from the start to the last product?

    python benchmarks/ncci/solve.py 12C 6 --backend pairs --device cuda
    python benchmarks/ncci/solve.py 10B 8 --device cuda --products 100 --fixed
    python benchmarks/ncci/solve.py 6Li 6 --states 8 --method lobpcg lanczos --block 8 1 --tolerance 1e-5
    python benchmarks/ncci/solve.py 6Li 8 --backend csb --device cuda --products 100 --fixed --code serial ranks

JISP16 at 20 MeV without Coulomb.  Prints one JSON line for every solver: seconds for the space (basis and matrix
elements of pairs), for the operator, for the solver, in products with H, and per vector and product; energies and
residuals in MeV.  `--every N` prints the state of the solver after every N steps.  `--code ranks` takes the operator
that several ranks share, on one rank.
"""

import argparse
import json
import time
from dataclasses import dataclass, field
from types import SimpleNamespace

import torch
from products import BUILD, DTYPES, case_parser, prepared, wait

from eigenwerk.linalg.bands.davidson import davidson
from eigenwerk.linalg.dense import host_eigh
from eigenwerk.linalg.lanczos import LanczosPlan, lanczos
from eigenwerk.linalg.operator import ALL, StandardOperator, Which
from eigenwerk.ncci.diagonal import diagonal
from eigenwerk.ncci.ranks.segments import Segments
from eigenwerk.ncci.solve.operators import SMALLEST_GAP, pairs_on
from eigenwerk.ncci.solve.start_vectors import noise_vectors
from eigenwerk.ncci.stored.csb_on_ranks import csb_on_ranks
from eigenwerk.parallel.runtime import Runtime


@dataclass
class Timed(StandardOperator):
    """An operator that waits for its products and adds up their seconds."""

    products: object
    device: str
    diagonal_b: torch.Tensor | None = None
    seconds: list[float] = field(default_factory=list)

    def first(self, x_knb: torch.Tensor, k: Which = ALL) -> torch.Tensor:
        """H x, (1, n, b)."""
        wait(self.device)
        begin = time.perf_counter()
        y_nb = self.products.apply(x_knb[0])
        wait(self.device)
        self.seconds.append(time.perf_counter() - begin)
        return y_nb.unsqueeze(0)

    def precondition(self, residual_knb, eig_kn, x_knb, k: Which = ALL) -> torch.Tensor:
        """As `operators.Hamiltonian` does it."""
        gap_knb = self.diagonal_b - eig_kn.to(self.diagonal_b).unsqueeze(-1)
        return residual_knb / gap_knb.clamp_min_(SMALLEST_GAP)

    def sum(self, tensor: torch.Tensor) -> torch.Tensor:
        """One process has all components."""
        return tensor


def main() -> None:
    """Builds once for each code, solves once for every method and block size."""
    options = _options()
    basis, pairs, found, seconds = prepared(options)
    found["seconds_space"] = seconds
    for code in options.code:
        _built_and_solved(options, code, basis, pairs, found | {"code": code})


def _built_and_solved(options, code: str, basis, pairs, found: dict) -> None:
    dtype = DTYPES[options.precision]
    begin = time.perf_counter()
    operator = _operator(options, code, basis, pairs, dtype)
    wait(options.device)
    found["seconds_operator"] = time.perf_counter() - begin
    diagonal_b = None
    if "lobpcg" in options.method:
        diagonal_b = diagonal(basis, pairs, options.device).to(dtype)
    like = torch.zeros(1, dtype=dtype, device=options.device)
    for method, block in zip(options.method, options.block, strict=True):
        timed = Timed(operator, options.device, diagonal_b)
        start_knb = noise_vectors(Segments(basis.dimension), block, like).unsqueeze(0)
        begin = time.perf_counter()
        result = _solve(options, method, timed, start_knb, begin)
        wait(options.device)
        seconds = time.perf_counter() - begin
        line = _line(method, block, result, timed, seconds, options)
        print(json.dumps(found | line), flush=True)


def _operator(options, code: str, basis, pairs, dtype: torch.dtype):
    """H by the code of one rank, or by that of many."""
    if code == "serial":
        return BUILD[options.backend](basis, pairs, dtype, options.device)
    runtime = Runtime(device=torch.device(options.device), real=dtype)
    if options.backend == "csb":
        shared = csb_on_ranks(basis, pairs, runtime)
    else:
        shared = pairs_on(Segments(basis.dimension, runtime.world), basis, pairs, runtime)
    return SimpleNamespace(apply=shared.on_segments)


def _options() -> argparse.Namespace:
    parser = case_parser(__doc__)
    parser.add_argument("--states", type=int, default=1)
    parser.add_argument("--method", choices=("lanczos", "lobpcg"), nargs="+", default=["lanczos"])
    parser.add_argument("--block", type=int, nargs="+", default=[1], help="vectors of a step, one for every method")
    parser.add_argument("--tolerance", type=float, default=1e-5)
    parser.add_argument("--products", type=int, default=2000)
    parser.add_argument("--space", type=int, default=100)
    parser.add_argument("--fixed", action="store_true")
    parser.add_argument("--every", type=int, default=0)
    parser.add_argument("--code", choices=("serial", "ranks"), nargs="+", default=["serial"])
    return parser.parse_args()


def _solve(options, method: str, timed: Timed, start_knb: torch.Tensor, begin: float):
    steps = []

    def watch(state) -> None:
        products = state.products if method == "lanczos" else state.applications
        steps.append(products)
        if options.every and len(steps) % options.every == 0:
            eig = (state.eig_m if method == "lanczos" else state.eig_kn[0])[: options.states].tolist()
            print(f"{products} products, {time.perf_counter() - begin:.3f} s, {eig}", flush=True)

    if method == "lobpcg":
        wanted_kn = torch.arange(start_knb.shape[1], device=start_knb.device).unsqueeze(0) < options.states
        return davidson(
            timed, start_knb, expansions=options.products, tolerance=options.tolerance, relative=True,
            products=options.products, wanted_weight_kn=wanted_kn, eigh=host_eigh, watch=watch,
        )  # fmt: skip
    plan = LanczosPlan(options.states, options.tolerance, options.products, options.fixed, options.space)
    return lanczos(timed, start_knb, plan, watch=watch)


def _line(method: str, block: int, result, timed: Timed, seconds: float, options) -> dict:
    calls, states = sorted(timed.seconds[1:] or timed.seconds), options.states
    peak = {"peak_GB": torch.cuda.max_memory_allocated() / 1e9} if options.device.startswith("cuda") else {}
    return peak | {
        "method": method,
        "block": block,
        "converged": bool(result.converged_kn[0, :states].all()),
        "products": result.applications,
        "steps": result.iterations,
        "seconds_solver": seconds,
        "seconds_products": sum(timed.seconds),
        "seconds_per_vector_product": calls[len(calls) // 2] / block,
        "energies_MeV": result.eig_kn[0, :states].tolist(),
        "residuals_MeV": result.residual_kn[0, :states].tolist(),
    }


if __name__ == "__main__":
    main()
