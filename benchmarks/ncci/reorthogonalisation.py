"""How long does it take to take a new Lanczos vector out of all before it, as it is done now and as it was?

    python benchmarks/ncci/reorthogonalisation.py --device cuda --out benchmarks/ncci/reorthogonalisation
    python benchmarks/ncci/reorthogonalisation.py --length 1000000 --rows 10 30 100 --out /tmp/here

Two passes of Gram-Schmidt against k vectors in single precision: what a step of Lanczos does besides H x.  "Before":
stretches of double-precision copies, matrix products, subtraction in single precision; "plain": PyTorch twin of now;
"twice" and "once": the compiled loops with two readings of the basis in each pass, and with what the second pass begins
with read from the cache; "now": as the program chooses.  Lengths are those of 10B at Nmax 8 and 6Li at Nmax 10 if none
is given.  Writes OUT.json and OUT.md: medians of seconds, bytes that have to come from memory, percent of a copy.
"""

import argparse
import json
import platform
import time
from datetime import date
from pathlib import Path

import torch
from products import device_name, wait

from eigenwerk import __version__
from eigenwerk.linalg.long_vectors import cuda, native
from eigenwerk.linalg.long_vectors.plain import PlainProjections
from eigenwerk.linalg.long_vectors.projections import projections
from eigenwerk.linalg.orthogonal import orthonormalise

LENGTHS = {"10B, Nmax 8": 165_613_656, "6Li, Nmax 10": 9_692_634}


def main() -> None:
    """Measures every length and number of rows, then a whole run of 100 steps."""
    options = _options()
    lengths = {str(length): length for length in options.length} if options.length else LENGTHS
    about = {
        "device": device_name(options.device), "host": platform.processor() or platform.machine(),
        "threads": torch.get_num_threads(), "eigenwerk": __version__, "torch": torch.__version__,
        "date": str(date.today()), "copy_bytes_per_second": _copy_rate(options.device),
    }  # fmt: skip
    lines, whole = [], []
    for case, length in lengths.items():
        basis_mx = _basis(max(options.rows), length, options.device)
        for rows in options.rows:
            for name, how in _ways(basis_mx, options).items():
                lines.append({"case": case, "length": length} | _measured(name, how, basis_mx[:rows], options, about))
                print(json.dumps(lines[-1]), flush=True)
        for name in options.whole:
            whole.append({"case": case, "way": name} | _hundred(_ways(basis_mx, options)[name], basis_mx, options))
            print(json.dumps(whole[-1]), flush=True)
        del basis_mx
        if options.device.startswith("cuda"):
            torch.cuda.empty_cache()
    out = Path(options.out)
    out.with_suffix(".json").write_text(json.dumps({"about": about, "lines": lines, "whole": whole}, indent=1) + "\n")
    out.with_suffix(".md").write_text(_report(about, lines, whole))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--length", type=int, nargs="*")
    parser.add_argument("--rows", type=int, nargs="+", default=[1, 2, 4, 8, 16, 32, 50, 75, 100])
    parser.add_argument("--ways", nargs="+", default=["before", "twice", "once", "now"])
    parser.add_argument("--whole", nargs="*", default=["now", "before"], help="ways by which all steps are done, too")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--out", required=True)
    return parser.parse_args()


def _noise(rows: int, length: int, device: str, seed: int) -> torch.Tensor:
    """Random rows of length about one."""
    generator = torch.Generator(device).manual_seed(seed)
    found_nx = torch.empty(rows, length, device=device)
    for row in found_nx:
        row.normal_(generator=generator).mul_(length**-0.5)
    return found_nx


def _basis(rows: int, length: int, device: str) -> torch.Tensor:
    """Orthonormal rows."""
    basis_mx = _noise(rows, length, device, 3)
    orthonormalise(basis_mx[:0], basis_mx, 1.0, lambda tensor: tensor)
    return basis_mx


def before(basis_mx: torch.Tensor, w_nx: torch.Tensor) -> torch.Tensor:
    """The coefficients as they were made: every stretch copied to double precision."""
    sum_mn = basis_mx.new_zeros((len(basis_mx), len(w_nx)), dtype=torch.float64)
    for _ in range(2):
        c_mn = PlainProjections().overlaps(basis_mx, w_nx)
        w_nx.sub_(c_mn.T.to(w_nx.dtype) @ basis_mx)
        sum_mn += c_mn
    return sum_mn


def _by(steps):
    """Two passes by some loops, as `orthogonal.project_out` does it on one rank."""

    def project_out(basis_mx: torch.Tensor, w_nx: torch.Tensor) -> torch.Tensor:
        first_mn = steps.overlaps(basis_mx, w_nx)
        second_mn = steps.take_out_and_overlap(basis_mx, first_mn, w_nx)
        steps.take_out(basis_mx, second_mn, w_nx)
        return first_mn + second_mn

    return project_out


class _Twice:
    """Compiled loops of a processor that do one thing at a time."""

    def __init__(self, loops):
        self.overlaps, self.take_out = loops.overlaps, loops.take_out

    def take_out_and_overlap(self, basis_mx, c_mn, w_nx):
        self.take_out(basis_mx, c_mn, w_nx)
        return self.overlaps(basis_mx, w_nx)


def _ways(basis_mx: torch.Tensor, options) -> dict:
    device, dtype = basis_mx.device, basis_mx.dtype
    if device.type == "cuda":
        twice, once = (cuda.CudaProjections(device, dtype, both_at_once=both) for both in (False, True))
    else:
        once = native.projections(dtype)
        twice = _Twice(once)
    found = {"plain": PlainProjections(), "twice": twice, "once": once, "now": projections(basis_mx, basis_mx)}
    ways = {"before": before} | {name: _by(steps) for name, steps in found.items()}
    return {name: how for name, how in ways.items() if name in {*options.ways, *options.whole}}


def _measured(name: str, how, basis_mx: torch.Tensor, options, about: dict) -> dict:
    """Median seconds, and how well it is done."""
    rows, length = basis_mx.shape
    start_nx = _noise(1, length, options.device, 4).add_(basis_mx.sum(0))
    exact_mn = PlainProjections().overlaps(basis_mx, start_nx)
    seconds, w_nx = [], torch.empty_like(start_nx)
    for _ in range(options.repeat + 1):
        w_nx.copy_(start_nx)
        wait(options.device)
        begin = time.perf_counter()
        c_mn = how(basis_mx, w_nx)
        wait(options.device)
        seconds.append(time.perf_counter() - begin)
    left = PlainProjections().overlaps(basis_mx, w_nx).abs().max() / torch.linalg.vector_norm(w_nx, dtype=torch.float64)
    median = sorted(seconds[1:])[options.repeat // 2]
    readings = 3 if name == "once" or (name == "now" and _reads_once(projections(basis_mx, w_nx), basis_mx)) else 4
    moved = 4 * length * (readings * rows + readings + 2)
    return {
        "way": name, "rows": rows, "seconds": median, "bytes": moved,
        "percent_of_copy": 100 * moved / median / about["copy_bytes_per_second"],
        "left_in_basis": float(left), "coefficients_off": float((c_mn - exact_mn).abs().max()), "readings": readings,
    }  # fmt: skip


def _reads_once(steps, basis_mx: torch.Tensor) -> bool:
    """Whether the second pass begins with what the first one has in the cache."""
    if isinstance(steps, cuda.CudaProjections):
        return steps.blocks_in_cache(basis_mx) > 0
    return isinstance(steps, native.NativeProjections)


def _hundred(how, basis_mx: torch.Tensor, options) -> dict:
    """All steps, of one vector more each."""
    w_nx = _noise(1, basis_mx.shape[1], options.device, 4)
    how(basis_mx[:1], w_nx)
    wait(options.device)
    begin = time.perf_counter()
    for rows in range(1, len(basis_mx) + 1):
        how(basis_mx[:rows], w_nx)
    wait(options.device)
    return {"steps": len(basis_mx), "seconds": time.perf_counter() - begin}


def _copy_rate(device: str) -> float:
    """Bytes read and written per second of a large copy."""
    a = torch.zeros(1 << (30 if device.startswith("cuda") else 26), device=device)
    b, seconds = torch.empty_like(a), []
    for _ in range(6):
        wait(device)
        begin = time.perf_counter()
        b.copy_(a)
        wait(device)
        seconds.append(time.perf_counter() - begin)
    return 2 * a.nbytes / min(seconds[1:])


def _report(about: dict, lines: list[dict], whole: list[dict]) -> str:
    text = ["# Reorthogonalisation\n", (
        f"{about['device']}, {about['threads']} threads of its host, {about['copy_bytes_per_second'] / 1e12:.2f} TB/s "
        f"for a copy; eigenwerk {about['eigenwerk']}, PyTorch {about['torch']}, {about['date']}.\n"
        "Two passes of Gram-Schmidt of one vector against k, single precision with sums in double "
        "([script](reorthogonalisation.py)); medians.  Of copy: the bytes that have to come from memory.\n"
    )]  # fmt: skip
    ways = list(dict.fromkeys(line["way"] for line in lines))
    for case in dict.fromkeys(line["case"] for line in lines):
        text.append(f"\n## {case}\n")
        text.append("| k |" + "".join(f" {way}, ms | of copy |" for way in ways))
        text.append("|---|" + "---|---|" * len(ways))
        for rows in dict.fromkeys(line["rows"] for line in lines if line["case"] == case):
            cells = [line for line in lines if line["case"] == case and line["rows"] == rows]
            found = {line["way"]: f" {1e3 * line['seconds']:.3g} | {line['percent_of_copy']:.0f} % |" for line in cells}
            text.append(f"| {rows} |" + "".join(found[way] for way in ways))
        for line in whole:
            if line["case"] == case:
                text.append(f"\n{line['steps']} steps, {line['way']}: {line['seconds']:.3g} s.")
    return "\n".join(text) + "\n"


if __name__ == "__main__":
    main()
