"""How fast are building the Hamiltonian of a nucleus and its product, by each back end, on a CPU or a GPU?

    python benchmarks/ncci/products.py 10B 4 --backend pairs --device cuda --precision single --vectors 1 8

JISP16 at 20 MeV without Coulomb.  Prints one JSON line for every number of vectors.  For csb: nonzeros per second and
the bytes of the matrix per second.  For pairs: gathered elements, multiply-adds per second, and the least traffic of a
product, (32 bytes to read and 64 to add) for every gathered element, per second.  `--check` compares the product with
that of the other back end (csb or pairs) in double precision on the same device.
"""

import argparse
import json
import resource
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from eigenwerk.ncci.basis.basis_pairs import BasisPairs, basis_pairs
from eigenwerk.ncci.basis.manybody import ManyBodyBasis
from eigenwerk.ncci.inputs.inputs import read_cases
from eigenwerk.ncci.matrix_free.pair_tasks import all_tasks
from eigenwerk.ncci.matrix_free.pairs import pairs_hamiltonian
from eigenwerk.ncci.sources import source_of, total
from eigenwerk.ncci.stored.csb import csb_hamiltonian

BUILD = {"csb": csb_hamiltonian, "pairs": pairs_hamiltonian}
DTYPES = {"single": torch.float32, "double": torch.float64}


def main() -> None:
    """Builds, warms up, measures."""
    options = _options()
    basis, pairs, found, seconds = prepared(options)
    found["seconds_before_build"] = seconds
    begin = time.perf_counter()
    operator = BUILD[options.backend](basis, pairs, DTYPES[options.precision], options.device)
    wait(options.device)
    found["seconds_build"] = time.perf_counter() - begin
    found |= _size(options.backend, operator, basis, pairs)
    for vectors in options.vectors:
        x_nb = torch.randn(vectors, basis.dimension, dtype=DTYPES[options.precision], device=options.device)
        begin = time.perf_counter()
        y_nb = operator.apply(x_nb)
        wait(options.device)
        first = time.perf_counter() - begin
        seconds = _measure(operator, x_nb, options)
        line = found | {"vectors": vectors, "seconds_first": first, "seconds_product": seconds}
        line |= _rates(line) | _memory(options.device)
        if options.check:
            line["difference"] = _difference(options, basis, pairs, x_nb, y_nb)
        print(json.dumps(line), flush=True)


def _options() -> argparse.Namespace:
    parser = case_parser(__doc__)
    parser.add_argument("--vectors", type=int, nargs="+", default=[1])
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--check", action="store_true")
    return parser.parse_args()


def case_parser(about: str | None) -> argparse.ArgumentParser:
    """The options that say which Hamiltonian is built, and how."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nucleus")
    parser.add_argument("nmax", type=int)
    parser.add_argument("--backend", choices=BUILD, default="pairs")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precision", choices=DTYPES, default="single")
    return parser


def prepared(options: argparse.Namespace) -> tuple[ManyBodyBasis, BasisPairs, dict, float]:
    """Basis, pairs, the first columns of a line about them, and the seconds that it took."""
    begin = time.perf_counter()
    basis, pairs = space(options.nucleus, options.nmax)
    found = {"nucleus": options.nucleus, "Nmax": options.nmax, "dimension": basis.dimension}
    found |= {"backend": options.backend, "precision": options.precision, "device": device_name(options.device)}
    return basis, pairs, found, time.perf_counter() - begin


def space(nucleus: str, nmax: int) -> tuple[ManyBodyBasis, BasisPairs]:
    """Basis and pairs of a nucleus."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "case.toml"
        path.write_text(f'nucleus = "{nucleus}"\ninteraction = "JISP16"\nhw = 20.0\nNmax = {nmax}\ncoulomb = false\n')
        (case,) = read_cases(path)
        source = source_of(case)
        problem = source.problem(case)
        basis = problem.basis()
        return basis, basis_pairs(basis, total(source.parts(case, problem)))


def _measure(operator, x_nb: torch.Tensor, options: argparse.Namespace) -> float:
    """Median seconds of a product."""
    seconds = []
    for _ in range(options.repeat):
        begin = time.perf_counter()
        operator.apply(x_nb)
        wait(options.device)
        seconds.append(time.perf_counter() - begin)
    return sorted(seconds)[len(seconds) // 2]


def _size(backend: str, operator, basis: ManyBodyBasis, pairs) -> dict[str, float]:
    if backend == "csb":
        return {"nonzeros": operator.nonzeros, "matrix_bytes": operator.bytes, **_named(operator.seconds)}
    kinds = all_tasks(basis, pairs)
    nucleons = basis.nucleons
    return {
        "elements": basis.dimension * nucleons * (nucleons - 1) // 2,
        "gathers": sum(kind.gathers for kind in kinds),
        "multiply_adds": sum(kind.multiplications for kind in kinds),
        "products": sum(len(kind.tasks) for kind in kinds),
    }


def _named(seconds: dict[str, float]) -> dict[str, float]:
    return {f"seconds_{name}": value for name, value in seconds.items()}


def _rates(line: dict) -> dict[str, float]:
    seconds = line["seconds_product"]
    if line["backend"] == "csb":
        return {
            "nonzeros_per_second": line["nonzeros"] / seconds,
            "nonzeros_built_per_second": line["nonzeros"] / line["seconds_build"],
            "matrix_TB_per_second": line["matrix_bytes"] / seconds / 1e12,
        }
    return {
        "elements_per_second": line["elements"] * line["vectors"] / seconds,
        "multiply_adds_per_second": line["multiply_adds"] * line["vectors"] / seconds,
        "worst_case_TB_per_second": 96e-12 * line["elements"] / seconds,
    }


def _memory(device: str) -> dict[str, float]:
    if device.startswith("cuda"):
        return {"peak_GB": torch.cuda.max_memory_allocated() / 1e9}
    return {"peak_GB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9}


def _difference(options, basis, pairs, x_nb: torch.Tensor, y_nb: torch.Tensor) -> float:
    """Largest difference to the other back end, relative to the largest component."""
    other = BUILD[{"csb": "pairs", "pairs": "csb"}[options.backend]](basis, pairs, torch.float64, options.device)
    wanted = other.apply(x_nb.double())
    return float((y_nb.double() - wanted).abs().max() / wanted.abs().max())


def device_name(device: str) -> str:
    """The GPU's name, or cpu."""
    return torch.cuda.get_device_name(device) if device.startswith("cuda") else "cpu"


def wait(device: str) -> None:
    """Until a GPU has done all it was given."""
    if device.startswith("cuda"):
        torch.cuda.synchronize()


if __name__ == "__main__":
    main()
