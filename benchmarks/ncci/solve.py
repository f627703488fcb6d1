"""How long does it take to find the lowest states of a nucleus, by which solver, from the start to the last product?

    python benchmarks/ncci/solve.py 12C 6 --backend pairs --device cuda
    python benchmarks/ncci/solve.py 10B 8 --device cuda --products 100 --fixed
    python benchmarks/ncci/solve.py 6Li 6 --states 8 --method lobpcg lanczos --block 8 1 --tolerance 1e-5

JISP16 at 20 MeV without Coulomb.  Prints one JSON line for every solver: seconds for the space (basis and matrix
elements of pairs), for the operator, for the solver, in products with H, and per vector and product; energies and
residuals in MeV.  `--every N` prints the state of the solver after every N steps.
"""

import argparse
import json
import time
from dataclasses import dataclass, field

import torch
from products import BUILD, DTYPES, case_parser, prepared, wait

from eigenwerk.linalg.lanczos import LanczosPlan, lanczos
from eigenwerk.linalg.lobpcg import LobpcgPlan, lobpcg
from eigenwerk.ncci.diagonal import DiagonalPreconditioner, diagonal
from eigenwerk.ncci.start_vectors import noise_vectors


@dataclass
class Timed:
    """An operator that waits for its products and adds up their seconds."""

    products: object
    device: str
    seconds: list[float] = field(default_factory=list)

    def apply(self, x_nb: torch.Tensor) -> torch.Tensor:
        """H x, (n, b)."""
        wait(self.device)
        begin = time.perf_counter()
        y_nb = self.products.apply(x_nb)
        wait(self.device)
        self.seconds.append(time.perf_counter() - begin)
        return y_nb

    def sum(self, tensor: torch.Tensor) -> torch.Tensor:
        """One process has all components."""
        return tensor


def main() -> None:
    """Builds once, solves once for every method and block size."""
    options = _options()
    basis, pairs, found, seconds = prepared(options)
    found["seconds_space"] = seconds
    dtype = DTYPES[options.precision]
    begin = time.perf_counter()
    operator = BUILD[options.backend](basis, pairs, dtype, options.device)
    wait(options.device)
    found["seconds_operator"] = time.perf_counter() - begin
    diagonal_b = None
    if "lobpcg" in options.method:
        diagonal_b = diagonal(basis, pairs, options.device).to(dtype)
    like = torch.zeros(1, dtype=dtype, device=options.device)
    for method, block in zip(options.method, options.block, strict=True):
        timed = Timed(operator, options.device)
        start_nb = noise_vectors(basis, block, like)
        begin = time.perf_counter()
        result = _solve(options, method, timed, start_nb, diagonal_b, begin)
        wait(options.device)
        seconds = time.perf_counter() - begin
        print(json.dumps(found | _line(method, block, result, timed, seconds, options.device)), flush=True)


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
    return parser.parse_args()


def _solve(options, method: str, timed: Timed, start_nb: torch.Tensor, diagonal_b, begin: float):
    steps = []

    def watch(state) -> None:
        steps.append(state.products)
        if options.every and len(steps) % options.every == 0:
            eig = (state.eig_m if method == "lanczos" else state.eig_n)[: options.states].tolist()
            print(f"{state.products} products, {time.perf_counter() - begin:.3f} s, {eig}", flush=True)

    if method == "lobpcg":
        plan = LobpcgPlan(options.states, options.tolerance, options.products)
        return lobpcg(timed, start_nb, plan, precondition=DiagonalPreconditioner(diagonal_b), watch=watch)
    plan = LanczosPlan(options.states, options.tolerance, options.products, options.fixed, options.space)
    return lanczos(timed, start_nb, plan, watch=watch)


def _line(method: str, block: int, result, timed: Timed, seconds: float, device: str) -> dict:
    calls = sorted(timed.seconds[1:] or timed.seconds)
    peak = {"peak_GB": torch.cuda.max_memory_allocated() / 1e9} if device.startswith("cuda") else {}
    return peak | {
        "method": method,
        "block": block,
        "converged": bool(result.converged_kn.all()),
        "products": result.applications,
        "steps": result.iterations,
        "seconds_solver": seconds,
        "seconds_products": sum(timed.seconds),
        "seconds_per_vector_product": calls[len(calls) // 2] / block,
        "energies_MeV": result.eig_kn[0].tolist(),
        "residuals_MeV": result.residual_kn[0].tolist(),
    }


if __name__ == "__main__":
    main()
