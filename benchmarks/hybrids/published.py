"""Hybrids beside published numbers: HSE06 gaps and lattice constants, PBE0 gaps, magnets, a metal, PBE0 molecules.

    python benchmarks/hybrids/published.py make [--only gap/Si ...]    folders, in build/on_device/hybrids
    python benchmarks/hybrids/published.py run [--only ...] [--device cuda] [--on-gpu 6] [--on-cores 8] [--minutes 8]
                                               [--json FILE]           those not yet in the file, dearest first
    python benchmarks/hybrids/published.py table                       published.md, beside ../shared

Cases are in published_cases.py.  `run` needs the folders and data sets alone, no network and no ../shared: several
processes share the GPU, with the hybrids, and others have a core each, with PBE.  Runs that another would go on with
when time is up are left out and begun anew by the next `run`.  python benchmarks/entries.py INTO FROM adds a file.
"""

import argparse
import json
import multiprocessing
import os
import platform
import sys
import time
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]
from entries import changing, load  # noqa: E402

RESULTS, FOLDERS = HERE / "published.json", HERE.parents[1] / "build" / "on_device" / "hybrids"


def make(only: list[str]) -> None:
    """INCAR, POSCAR, KPOINTS (KPOINTS_OPT) of all cases, and what else `run` has to know of them."""
    from published_cases import all_cases

    for case in all_cases():
        if not wanted(case.name, only):
            continue
        folder = FOLDERS / case.name.replace("/", "--")
        folder.mkdir(parents=True, exist_ok=True)
        kinds = list(dict.fromkeys(case.symbols))
        counts = [str(case.symbols.count(kind)) for kind in kinds]
        assert [kind for kind in kinds for _ in range(case.symbols.count(kind))] == list(case.symbols), case.name
        rows = [case.name, "1.0", *_rows(case.cell), " ".join(kinds), " ".join(counts), "Direct", *_rows(case.scaled)]
        (folder / "POSCAR").write_text("\n".join([*rows, ""]))
        (folder / "INCAR").write_text("".join(f"{tag} = {value}\n" for tag, value in case.tags.items()))
        (folder / "KPOINTS").write_text("mesh\n0\nGamma\n" + " ".join(map(str, case.mesh)) + "\n")
        if case.line:
            points = [" ".join(map(str, point)) + " 1" for point in case.line]
            (folder / "KPOINTS_OPT").write_text("\n".join(["towards X", str(len(points)), "Reciprocal", *points, ""]))
        about = {"name": case.name, "cost": case.cost, "kernel": case.kernel, **case.facts}
        (folder / "case.json").write_text(json.dumps(about))


def _rows(value_xc: np.ndarray) -> list[str]:
    return [" ".join(f"{value:.10f}" for value in row) for row in value_xc]


def wanted(name: str, only: list[str]) -> bool:
    """Whether the name begins with one of them; all if there are none."""
    return not only or any(name == start or name.startswith(f"{start}/") for start in only)


def _begin(device: str) -> None:
    """Of a process of a pool."""
    import torch

    torch.set_num_threads(1)
    if device != "cpu":
        torch.zeros(1, device=device)


def solve(folder: Path, device: str, until: float) -> dict[str, Any] | None:
    """One case, in memory; None if there was no time for it."""
    import torch

    from eigenwerk import __version__
    from eigenwerk.dft.inputs.inputs import read_inputs
    from eigenwerk.dft.runs.run import run_inputs
    from eigenwerk.parallel.runtime import Runtime

    if time.time() > until:
        return None
    about = json.loads((folder / "case.json").read_text())
    inputs = read_inputs(folder)
    inputs.raise_on_errors()
    parameters = replace(inputs.parameters, exchange_range=about["kernel"])
    inputs = replace(inputs, parts=replace(inputs.parts, parameters=parameters))
    began = time.perf_counter()
    found = run_inputs(
        inputs, runtime=Runtime(device=torch.device(device)), in_memory=True, threads=1,
        until=time.monotonic() + max(1.0, until - time.time()),
    )  # fmt: skip
    if not found.converged and time.time() > until - 5:
        return None
    name = torch.cuda.get_device_name() if device != "cpu" else platform.processor() or platform.machine()
    return {
        **about, "converged": found.converged, "status": found.status, "free_eV": found.free_energy,
        "zero_eV": found.energy_zero, "gap_eV": found.gap.gap, "metal": found.gap.metal, "steps": len(found.steps),
        "fermi_eV": found.fermi_level, "levels": _levels(found), "moment": found.moment,
        "moments": None if found.moment_a is None else found.moment_a.tolist(), **_spheres(found),
        "ionic_steps": None if found.ionic_history is None else len(found.ionic_history.steps),
        "seconds": time.perf_counter() - began, "device": name, "cores": os.cpu_count(), "torch": torch.__version__,
        "eigenwerk": __version__, "date": time.strftime("%Y-%m-%d"), "warnings": list(found.warnings),
    }  # fmt: skip


def _spheres(found: Any) -> dict[str, Any]:
    """Moments in the spheres of LORBIT, if there are any."""
    charges = found.charges
    if charges is None:
        return {}
    return {"spheres": {key: value.tolist() for key, value in vars(charges).items() if isinstance(value, np.ndarray)}}


def _levels(found: Any) -> list[Any]:
    """Of each point of mesh and line: place, band top and bottom above it, all levels (eV), of both spins."""
    filled = round(float((found.occ_skn.sum(2) @ found.weight_k).mean()))
    points = [(point_c, found.eig_skn[:, k]) for k, point_c in enumerate(found.kpoint_kc)]
    if found.bands is not None:
        points += [(point_c, found.bands.eig_skn[:, k]) for k, point_c in enumerate(found.bands.point_kc)]
    return [
        [np.round(point_c, 6).tolist(), float(eig_sn[:, filled - 1].max()), float(eig_sn[:, filled].min()),
         np.round(eig_sn, 4).tolist()]
        for point_c, eig_sn in points
    ]  # fmt: skip


def run(given: argparse.Namespace) -> None:
    """Two pools: hybrids where the device is, the rest (cost 0) on cores."""
    os.environ["OMP_NUM_THREADS"] = "1"
    known, until = load(given.json), time.time() + 60 * given.minutes
    folders = {about["name"]: (about["cost"], path.parent) for path in sorted(FOLDERS.glob("*/case.json"))
               if wanted((about := json.loads(path.read_text()))["name"], given.only)}  # fmt: skip
    if not folders:
        sys.exit(f"{FOLDERS} has no such case: published.py make comes first")
    todo = sorted((name for name in folders if given.again or name not in known), key=lambda name: -folders[name][0])
    context, jobs = multiprocessing.get_context("spawn"), dict[Future[Any], str]()
    on_cores = given.on_cores if given.device != "cpu" else 0
    with (
        ProcessPoolExecutor(given.on_gpu, context, _begin, (given.device,)) as first,
        ProcessPoolExecutor(max(1, on_cores), context, _begin, ("cpu",)) as second,
    ):
        for name in todo:
            cost, folder = folders[name]
            pool, device = (second, "cpu") if on_cores and not cost else (first, given.device)
            jobs[pool.submit(solve, folder, device, until)] = name
        for job in as_completed(jobs):
            name, now = jobs[job], time.strftime("%H:%M:%S")
            try:
                found = job.result()
            except Exception as error:
                print(f"{now} {name}: failed: {error!r}"[:1500], flush=True)
                continue
            if found is None:
                print(f"{now} {name}: no time left", flush=True)
                continue
            with changing(given.json) as entries:
                entries[name] = found
            gap = "" if found["gap_eV"] is None else f", gap {found['gap_eV']:.3f} eV"
            words = f"{found['status']}, {found['free_eV']:.5f} eV{gap}, {found['seconds']:.0f} s"
            print(f"{now} {name}: {words}", flush=True)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("make", "run", "table"))
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME", help="cases, or the beginning of their names")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--on-gpu", type=int, default=1, help="processes at the device")
    parser.add_argument("--on-cores", type=int, default=8, help="processes beside them, with a core each")
    parser.add_argument("--minutes", type=float, default=1e6)
    parser.add_argument("--again", action="store_true", help="also those that have results")
    parser.add_argument("--json", type=Path, default=RESULTS)
    given = parser.parse_args()
    if given.what == "make":
        make(given.only)
    elif given.what == "run":
        run(given)
    else:
        from published_table import page

        RESULTS.with_suffix(".md").write_text(page(load(given.json)), encoding="utf-8")


if __name__ == "__main__":
    main()
