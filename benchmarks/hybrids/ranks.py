"""Exact exchange on ranks: seconds of an application, of communication in it, and what of that was hidden.

    python benchmarks/hybrids/ranks.py [--before CHECKOUT] [--transport gloo mpi] [--write]
    python benchmarks/hybrids/ranks.py --transport nccl --cases Si8 --ranks 1 2      a GPU for each rank

Orbitals are those at the start of a run, the same for all.  Each measurement is a set of processes of its own with one
thread each: a first application (tables are made in it), then TRIES that count, medians, seconds of an application
those of the slowest rank, others means over ranks.  --before: the sources of another commit, measured in turn with
these.  Communication: seconds in which a rank was held up by verbs, waiting for others included; on their way: from
where a rank was ready to take orbitals until they had arrived, so that waiting for a late neighbour counts; hidden: the
share of that in which the rank did not wait, as `eigenwerk perf communication` has it.  Bytes: of orbitals that a rank
sent on in the ring, and of arrays that it gave to all other verbs.  --write: into ranks.json and ranks.md beside this
file.
"""

import argparse
import json
import os
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from datetime import date
from pathlib import Path
from statistics import median
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch

from eigenwerk.units import HARTREE_EV

HERE = Path(__file__).resolve().parent
SITES = "0 0 0\n0 .5 .5\n.5 0 .5\n.5 .5 0\n"
SI = ".25 .25 .25\n.25 .75 .75\n.75 .25 .75\n.75 .75 .25\n"
MGO = ".5 .5 .5\n.5 0 0\n0 .5 0\n0 0 .5\n"
CUBE = "1 0 0\n0 1 0\n0 0 1\n"
RING = [(radius * x, radius * y) for radius in (1.397, 2.481) for x, y in (
    (1, 0), (0.5, 0.75**0.5), (-0.5, 0.75**0.5), (-1, 0), (-0.5, -(0.75**0.5)), (0.5, -(0.75**0.5)),
)]  # fmt: skip
BENZENE = "".join(f"{5 + x:.6f} {5 + y:.6f} 3.5\n" for x, y in RING)
CASES = {
    # name: (POSCAR after the first line, mesh, INCAR)
    "Si8": (f"5.43\n{CUBE}Si\n8\nDirect\n{SITES}{SI}", "2 2 2", "ENCUT = 250\nISYM = 0"),
    "MgO8": (f"4.21\n{CUBE}Mg O\n4 4\nDirect\n{SITES}{MGO}", "1 1 1", "ENCUT = 400"),
    "C6H6": (f"1.0\n10 0 0\n0 10 0\n0 0 7\nC H\n6 6\nCartesian\n{BENZENE}", "1 1 1", "ENCUT = 300"),
}
LAYOUTS = ((1, 1), (2, 2), (2, 1), (4, 4), (4, 1))
"""Ranks and k-groups."""
TRIES, REPEATS = 3, 3


def folder_of(name: str, folder: Path) -> None:
    """The input of a case."""
    poscar, mesh, lines = CASES[name]
    (folder / "POSCAR").write_text(f"{name}\n{poscar}")
    (folder / "KPOINTS").write_text(f"mesh\n0\nGamma\n{mesh}\n")
    incar = f"LHFCALC = .TRUE.\nHFSCREEN = 0.2\nISMEAR = 0\nSIGMA = 0.05\nPRECISION_EXCHANGE = Double\n{lines}\n"
    (folder / "INCAR").write_text(incar)


def work(folder: Path, transport: str, groups: int) -> None:
    """One rank; rank 0 writes what all have measured."""
    from eigenwerk.dft.calculation import Calculation
    from eigenwerk.dft.exchange.pairs.pair_symmetry import applied_to_own
    from eigenwerk.dft.hamiltonian.hamiltonian import Hamiltonian
    from eigenwerk.dft.hamiltonian.wavefunctions import starting_orbitals
    from eigenwerk.dft.inputs.inputs import read_inputs
    from eigenwerk.io.paw.paw_xml import read_paw_xml
    from eigenwerk.parallel.device_clock import CudaClock
    from eigenwerk.parallel.process_grid import make_process_grid
    from eigenwerk.parallel.runtime import Runtime
    from eigenwerk.record.trace import Trace

    torch.set_num_threads(1)
    trace, world = Trace(), None
    rank, size = int(os.environ.get("BENCH_RANK", "0")), int(os.environ.get("BENCH_SIZE", "1"))
    device = torch.device(f"cuda:{rank}") if transport == "nccl" else torch.device("cpu")
    if transport == "mpi":
        from eigenwerk.parallel.transports.mpi import mpi_world

        world = mpi_world(trace)
    elif size > 1:
        from eigenwerk.parallel.transports.torch_distributed import gloo_world, nccl_world

        store = torch.distributed.FileStore(str(folder / "store"), size)
        world = (
            nccl_world(rank, size, store, device, trace) if device.type == "cuda"
            else gloo_world(rank, size, store, trace, interface="lo")
        )  # fmt: skip
    if device.type == "cuda":
        torch.cuda.set_device(device)
        trace.attach(CudaClock(device))
    grid = make_process_grid(world, groups) if world is not None else Runtime().grid
    runtime = Runtime(device=device, grid=grid, trace=trace)
    inputs = read_inputs(folder)
    datasets = {symbol: read_paw_xml(path) for symbol, path in inputs.datasets.items()}
    calc = Calculation(inputs.structure, inputs.kpoints, inputs.parameters, datasets, runtime)
    hamiltonian = Hamiltonian.of(calc.atoms, calc.builder(calc.symmetrise(calc.starting_density())))
    bands, channels = inputs.parameters.bands, calc.basis.spin.channels
    start = [starting_orbitals(calc.atoms, hamiltonian.block(s), bands)[:, :bands] for s in range(channels)]
    coeff_sknG = torch.stack(start)
    occ_skn = torch.zeros((channels, len(inputs.kpoints.point_kc), bands), dtype=torch.float64)
    occ_skn[..., : inputs.size.filled] = 1.0
    assert calc.exchange is not None
    operator, rows = calc.exchange.operator, []
    filling_skn = torch.as_tensor(inputs.kpoints.weight_k)[:, None] * occ_skn * calc.basis.spin.degeneracy
    for _ in range(1 + TRIES):
        before = _sums(trace)
        runtime.world.barrier()
        began = time.perf_counter()
        image_sknG = applied_to_own(operator, coeff_sknG, occ_skn)
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        took = time.perf_counter() - began
        after = _sums(trace)
        rows.append([took, *(b - a for a, b in zip(before, after, strict=True))])
    energy = operator.energy(coeff_sknG, image_sknG, filling_skn)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    row_rx = torch.tensor([[*row, energy, peak] for row in rows[1:]], dtype=torch.float64)
    all_prx = runtime.world.all_gather(row_rx[None].to(device)).cpu().numpy()
    if runtime.world.rank == 0:
        median_px = np.median(all_prx, axis=1)
        mean_x = median_px.mean(0)
        found = {
            "seconds": float(median_px[:, 0].max()), "communication": mean_x[1], "travel": mean_x[2],
            "waited": mean_x[3], "ring_bytes": mean_x[4], "other_bytes": mean_x[5], "energy": float(median_px[0, 6]),
            "peak_MB": float(median_px[:, 7].max()), "atoms": len(inputs.structure.symbols),
            "irreducible_points": len(inputs.kpoints.point_kc),
        }  # fmt: skip
        (folder / "found.json").write_text(json.dumps(found))
    runtime.world.close()


def _sums(trace: Any) -> tuple[float, float, float, float, float]:
    """Until now: seconds held up by communication, of orbitals on their way, of waiting for these; bytes of orbitals
    sent on, bytes given to other verbs."""
    record = trace.as_dict()
    traffic = record["traffic"]
    beside = [entry for entry in traffic if entry.get("travel_seconds") is not None]
    waited = _span(record["phases"], "orbitals of other ranks")
    held = sum(_clock(entry) for entry in traffic if entry not in beside and entry["verb"] not in ("any", "barrier"))
    sent = sum(entry["bytes"] for entry in beside)
    given = sum(entry["bytes"] for entry in traffic) - sent
    return held + waited, sum(entry["travel_seconds"] for entry in beside), waited, sent, given


def _clock(entry: dict[str, Any]) -> float:
    return float(entry["seconds"] if entry["device_seconds"] is None else entry["device_seconds"])


def _span(phases: list[dict[str, Any]], name: str) -> float:
    return sum(_clock(one) if one["name"] == name else _span(one["children"], name) for one in phases)


def measured(source: Path, name: str, transport: str, ranks: int, groups: int) -> dict[str, float]:
    """By processes of their own, with the package of `source`."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        folder_of(name, folder)
        words = [sys.executable, __file__, "--worker", str(folder), "--transport", transport, "--groups", str(groups)]
        paths = [str(source / "src"), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
        allowed = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        base = {**os.environ, **allowed, "PYTHONPATH": os.pathsep.join(paths), "BENCH_SIZE": str(ranks)}
        if transport == "mpi":
            mpirun = Path(sys.executable).parent / "mpirun"
            program = str(mpirun) if mpirun.exists() else str(shutil.which("mpirun"))
            commands = [([program, "--oversubscribe", "--bind-to", "none", "-n", str(ranks), *words], base)]
        else:
            commands = [(words, {**base, "BENCH_RANK": str(rank)}) for rank in range(ranks)]
        running = [subprocess.Popen(command, env=environment) for command, environment in commands]
        ended = [process.wait() for process in running]
        if any(ended):
            raise SystemExit(f"{name} on {ranks} ranks by {transport}: a rank has failed")
        return dict(json.loads((folder / "found.json").read_text()))


def main() -> None:
    """All cases, or one rank of one."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--before", type=Path)
    parser.add_argument("--transport", nargs="+", default=["gloo"])
    parser.add_argument("--cases", nargs="+", default=list(CASES))
    parser.add_argument("--ranks", type=int, nargs="+")
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--worker", type=Path)
    parser.add_argument("--groups", type=int, default=1)
    given = parser.parse_args()
    if given.worker:
        work(given.worker, given.transport[0], given.groups)
        return
    trees = ({"before": given.before.resolve()} if given.before else {}) | {"after": HERE.parents[1]}
    rows = []
    for name in given.cases:
        for transport in given.transport:
            for ranks, groups in LAYOUTS:
                if (given.ranks and ranks not in given.ranks) or (ranks == 1 and transport == "mpi"):
                    continue
                if groups > 1 and CASES[name][1] == "1 1 1":
                    continue
                runs: dict[str, list[dict[str, float]]] = {tree: [] for tree in trees}
                for _ in range(given.repeats):
                    for tree, source in trees.items():
                        runs[tree].append(measured(source, name, transport, ranks, groups))
                for tree, found in runs.items():
                    row = {key: median(one[key] for one in found) for key in found[0]}
                    seconds = [one["seconds"] for one in found]
                    row |= {"longest": max(seconds), "least": min(seconds)}
                    about = {"case": name, "transport": transport, "ranks": ranks, "groups": groups, "sources": tree}
                    alone = [one["energy"] for one in rows if one["case"] == name and one["ranks"] == 1]
                    difference = (row["energy"] - alone[0]) * HARTREE_EV / row["atoms"] if alone else None
                    rows.append({**about, **row, "difference_eV_per_atom": difference})
                    print(_line(rows[-1]), flush=True)
    if given.write:
        write(rows)


HEAD = (
    "| case | transport | ranks | k-groups × band ranks | sources | application s (least to most) | communication s | "
    "orbitals on their way s | hidden | MB sent on | MB to other verbs | peak MB of a rank | "
    "E_x less that of one rank, eV per atom |\n|" + "---|" * 13
)


def _line(row: dict[str, Any]) -> str:
    travel, difference = row["travel"], row["difference_eV_per_atom"]
    hidden = f"{100 * min(1.0, max(0.0, 1 - row['waited'] / travel)):.0f} %" if travel else ""
    return (
        f"| {row['case']} | {row['transport']} | {row['ranks']} | {row['groups']} × {row['ranks'] // row['groups']} | "
        f"{row['sources']} | {row['seconds']:.3f} ({row['least']:.3f} to {row['longest']:.3f}) | "
        f"{row['communication']:.3f} | {f'{travel:.4f}' if travel else ''} | {hidden} | "
        f"{row['ring_bytes'] / 1e6:.2f} | {row['other_bytes'] / 1e6:.2f} | {row['peak_MB']:.0f} | "
        f"{'' if difference is None or row['ranks'] == 1 else f'{difference:.0e}'} |"
    )


def write(rows: list[dict[str, Any]]) -> None:
    """The record and its table."""
    from eigenwerk import __version__

    machine = f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores"
    made_by = f"eigenwerk {__version__}, PyTorch {torch.__version__}, Python {platform.python_version()}"
    about = {"machine": machine, "date": str(date.today()), "made_by": made_by, "tries": TRIES}
    (HERE / "ranks.json").write_text(json.dumps({**about, "rows": rows}, indent=1) + "\n")
    cores = len(os.sched_getaffinity(0))
    crowded = sorted({row["ranks"] for row in rows if row["ranks"] > cores})
    words = (
        f"# Exact exchange on ranks\n\nMade by `ranks.py`: HSE06, double precision, one thread a rank, medians; "
        f"{machine}, {about['date']}, {made_by}. Its docstring says what the columns are.\n\n"
    )
    if crowded:
        several = " and ".join(map(str, crowded))
        words += (
            f"{several} ranks on {cores} cores take turns: their seconds, and what was hidden, say nothing about "
            f"{several} cores; bytes and energies do.\n\n"
        )
    (HERE / "ranks.md").write_text(words + "\n".join([HEAD, *map(_line, rows)]) + "\n")


if __name__ == "__main__":
    main()
