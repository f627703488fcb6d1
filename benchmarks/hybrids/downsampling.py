"""Exact exchange on a part of the q-points (NKRED, EVENONLY) against all of them: energies, gaps, seconds.

    python benchmarks/hybrids/downsampling.py     writes downsampling.json beside itself

Silicon and MgO at 245 and 400 eV, HSE06 and PBE0, meshes about Gamma.
"""

import json
import os
import platform
import time
from pathlib import Path

import numpy as np
import torch

from eigenwerk import __version__
from eigenwerk.dft.calculation import Calculation
from eigenwerk.dft.crystal.downsampling import EVEN, Downsampling
from eigenwerk.dft.crystal.kpoints import mesh_kpoints
from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.crystal.symmetry import find_symmetry
from eigenwerk.dft.settings.parameters import Parameters
from eigenwerk.functionals.hybrid import Hybrid
from eigenwerk.io.paw.paw_library import choose_dataset
from eigenwerk.io.paw.paw_xml import read_paw_xml
from eigenwerk.units import BOHR_ANGSTROM, HARTREE_EV

FCC = (1 - np.eye(3)) / 2
CRYSTALS = {
    # name: edge in Å, symbols, place of the second atom, ENCUT, bands
    "Si": (5.43, ("Si", "Si"), 0.25, 245.0, 8), "MgO": (4.21, ("Mg", "O"), 0.5, 400.0, 10),
}  # fmt: skip
HYBRIDS = {"HSE06": Hybrid.of(0.25, 0.2 * BOHR_ANGSTROM), "PBE0": Hybrid.of(0.25)}
PARTS = {
    "all": None, "NKRED = 2": Downsampling((2, 2, 2)), "NKRED = 3": Downsampling((3, 3, 3)),
    "EVENONLY": Downsampling((1, 1, 1), EVEN),
}  # fmt: skip
RUNS = [
    *(("Si", hybrid, size, part) for hybrid in HYBRIDS for size, part in (
        (2, "all"), (4, "all"), (4, "NKRED = 2"), (4, "EVENONLY"), (6, "all"), (6, "NKRED = 2"), (6, "NKRED = 3"),
    )),
    *(("MgO", "HSE06", size, part) for size, part in ((2, "all"), (4, "all"), (4, "NKRED = 2"))),
]  # fmt: skip


def run(name: str, hybrid: str, size: int, part: str) -> dict[str, object]:
    """One ground state."""
    edge, symbols, place, cutoff, bands = CRYSTALS[name]
    structure = Structure(edge * FCC / BOHR_ANGSTROM, symbols, np.array([[0.0] * 3, [place] * 3]))
    datasets = {symbol: read_paw_xml(choose_dataset(symbol, "PBE")) for symbol in structure.species}
    electrons = sum(datasets[symbol].valence for symbol in symbols)
    parameters = Parameters(
        cutoff=cutoff / HARTREE_EV, bands=bands, electrons=electrons, precision="Normal", hybrid=HYBRIDS[hybrid],
        downsampling=PARTS[part], ismear=0, width=0.05 / HARTREE_EV, energy_tolerance=1e-5 / HARTREE_EV, stress=False,
    )  # fmt: skip
    kpoints = mesh_kpoints((size,) * 3, (0.0,) * 3, True, find_symmetry(structure, 1e-5 / BOHR_ANGSTROM, 2))
    found = {"crystal": name, "hybrid": hybrid, "mesh": size, "part": part}
    if PARTS[part] is not None and PARTS[part].fault(kpoints):
        return found | {"refused": PARTS[part].fault(kpoints)}
    calculation, started = Calculation(structure, kpoints, parameters, datasets), time.perf_counter()
    state = calculation.run().state
    level_kn, filled = state.eig_skn[0].numpy() * HARTREE_EV, round(electrons / 2)
    top_k, bottom_k = level_kn[:, filled - 1], level_kn[:, filled]
    return found | {
        "eV_per_atom": state.energies.free * HARTREE_EV / 2, "gap_eV": float(bottom_k.min() - top_k.max()),
        "direct_gap_at_Gamma_eV": float(bottom_k[0] - top_k[0]), "seconds": time.perf_counter() - started,
        "applications": calculation.exchange.applications, "converged": state.converged,
    }  # fmt: skip


def main() -> None:
    """All runs, written as they come."""
    about = {
        "eigenwerk": __version__, "torch": torch.__version__, "machine": platform.processor() or platform.machine(),
        "threads": torch.get_num_threads(), "date": time.strftime("%Y-%m-%d"), "cores": os.cpu_count(),
    }  # fmt: skip
    rows: list[dict[str, object]] = []
    for one in RUNS:
        rows.append(run(*one))
        print(rows[-1], flush=True)
        path = Path(__file__).with_suffix(".json")
        path.write_text(json.dumps({"about": about, "rows": rows}, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
