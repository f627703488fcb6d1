"""How seconds per step and memory grow with atoms (silicon at Gamma) and with k-points (two atoms).

    python benchmarks/growth/growth.py --device cuda --atoms 64 216 512 1000 --meshes 4 6 8 12 16 --name cuda
    python benchmarks/growth/growth.py --plot benchmarks/growth/growth.png cuda cpu cpu_16

Cubic supercells and the primitive cell, 250 eV, PBE.  A step is the mean of those after the third (--skip), when the
solver of the job's size is at work; memory is the peak of PyTorch's allocations on a GPU and of the process on a CPU.
--name keeps the results under that name in results.json, or in the file after --json; --plot draws those of some names.
"""

import argparse
import contextlib
import resource
import sys
import time
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch

from eigenwerk.dft.calculation import Calculation
from eigenwerk.dft.inputs.inputs import read_inputs
from eigenwerk.io.paw_xml import read_paw_xml
from eigenwerk.parallel.runtime import Runtime

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from entries import changing, load

RESULTS = Path(__file__).resolve().parent / "results.json"

INCAR = "GGA = PE\nENCUT = 250\nISMEAR = 0\nSIGMA = 0.05\nEDIFF = 1E-9\n"
FACES = ((0, 0, 0), (0, 0.5, 0.5), (0.5, 0, 0.5), (0.5, 0.5, 0))
LATTICE = 5.43


class Enough(Exception):
    """The wanted number of steps has been done."""


def main() -> None:
    options = _options()
    if options.plot:
        entries = load(options.json)
        plot(options.plot, [entries[name] for name in options.names])
        return
    device, found = torch.device(options.device), []
    for atoms in options.atoms:
        cell = supercell(round((atoms / 8) ** (1 / 3)))
        found.append({"atoms": atoms, "mesh": 1} | measure(cell, 1, device, options))
    for mesh in options.meshes:
        found.append({"atoms": 2, "mesh": mesh} | measure(primitive(), mesh, device, options))
    if options.name:
        name = torch.cuda.get_device_name() if device.type == "cuda" else "processor"
        about = {"date": date.today().isoformat(), "torch": torch.__version__, "device": name}
        with changing(options.json) as entries:
            entries[options.name] = about | {"threads": torch.get_num_threads(), "results": found}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--atoms", type=int, nargs="*", default=[])
    parser.add_argument("--meshes", type=int, nargs="*", default=[])
    parser.add_argument("--steps", type=int, default=6, help="steps to do")
    parser.add_argument("--skip", type=int, default=3, help="steps that are not counted")
    parser.add_argument("--name", help="keep the results under this name")
    parser.add_argument("--json", type=Path, default=RESULTS, metavar="FILE", help="file of the results")
    parser.add_argument("--plot", type=Path, metavar="PICTURE")
    parser.add_argument("names", nargs="*", help="what to plot")
    return parser.parse_args()


def supercell(n: int) -> str:
    """POSCAR of n x n x n cubic cells."""
    cells = np.array([(i, j, k) for i in range(n) for j in range(n) for k in range(n)])
    basis = np.concatenate([np.array(FACES), np.array(FACES) + 0.25])
    scaled_ac = (cells[:, None] + basis[None]).reshape(-1, 3) / n
    rows = "\n".join(" ".join(f"{x:.12f}" for x in row) for row in scaled_ac)
    edge = n * LATTICE
    return f"Si\n1.0\n{edge} 0 0\n0 {edge} 0\n0 0 {edge}\nSi\n{len(scaled_ac)}\nDirect\n{rows}\n"


def primitive() -> str:
    """POSCAR of two atoms."""
    return f"Si\n{LATTICE}\n0 .5 .5\n.5 0 .5\n.5 .5 0\nSi\n2\nDirect\n0 0 0\n.25 .25 .25\n"


def measure(poscar: str, mesh: int, device: torch.device, options: argparse.Namespace) -> dict[str, float]:
    """A few steps of one cell."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "POSCAR").write_text(poscar)
        (folder / "INCAR").write_text(INCAR)
        (folder / "KPOINTS").write_text(f"mesh\n0\nGamma\n{mesh} {mesh} {mesh}\n")
        inputs = read_inputs(folder, folder)
        inputs.raise_on_errors()
        datasets = {symbol: read_paw_xml(file) for symbol, file in inputs.datasets.items()}
    if device.type == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    calculation = Calculation(inputs.structure, inputs.kpoints, inputs.parameters, datasets, Runtime(device=device))
    atoms, marks = len(inputs.structure.scaled_ac), [time.perf_counter()]

    def on_step(step, state) -> None:
        if device.type == "cuda":
            torch.cuda.synchronize()
        marks.append(time.perf_counter())
        print(f"{atoms} atoms, step {len(marks) - 1}: {marks[-1] - marks[-2]:.3f} s", flush=True)
        if len(marks) - 1 == options.steps:
            raise Enough

    with contextlib.suppress(Enough):
        calculation.run(on_step)
    counted = len(marks) - 1 - options.skip
    seconds = (marks[-1] - marks[options.skip]) / counted
    line = {"kpoints": len(inputs.kpoints.point_kc), "bands": inputs.parameters.bands, "seconds": seconds}
    line |= {"plane_waves": max(calculation.basis.count_k), "steps": counted, "gigabytes": _peak(device)}
    print(line, flush=True)
    return line


def _peak(device: torch.device) -> float:
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated() / 1e9
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def plot(path: Path, reports: list[dict]) -> None:
    """Seconds and memory against atoms and k-points, with lines of the exponents of theory."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 2, figsize=(10, 8), constrained_layout=True)
    for report in reports:
        by_atoms = [line for line in report["results"] if line["mesh"] == 1]
        by_points = [line for line in report["results"] if line["mesh"] > 1]
        for column, (lines, x) in enumerate(((by_atoms, "atoms"), (by_points, "kpoints"))):
            for row, y in enumerate(("seconds", "gigabytes")):
                points = [line[x] for line in lines], [line[y] for line in lines]
                if lines:
                    axes[row, column].loglog(*points, "o-", label=report["device"])
    titles = (("silicon at Γ", "two atoms"), ("", ""))
    exponents = ((3, 1), (2, 1))
    for row, word in enumerate(("seconds per step", "peak memory, GB")):
        for column, label in enumerate(("atoms", "irreducible k-points")):
            axis, power = axes[row, column], exponents[row][column]
            _guide(axis, power)
            axis.set(xlabel=label, ylabel=word, title=titles[row][column])
            axis.legend()
    figure.savefig(path, dpi=120)


def _guide(axis, power: int) -> None:
    """A dashed line of the slope of theory through the last point of the first curve."""
    if not axis.lines or not len(axis.lines[0].get_xdata()):
        return
    x, y = (np.asarray(data, dtype=float) for data in axis.lines[0].get_data())
    axis.loglog(x, y[-1] * (x / x[-1]) ** power, "k--", linewidth=0.8, label=f"slope {power}")


if __name__ == "__main__":
    main()
