"""Exchange with the cores screened or not (CORE_EXCHANGE): how well cores are recomputed, and what gaps become.

    OMP_NUM_THREADS=1 python benchmarks/hybrids/cores.py     writes cores.json and cores.md beside itself

Recomputed core orbitals against the core density and the exchange of 1/r of every PBE data set of gpaw-data; HSE06 of
small crystals with both settings.
"""

import json
import os
import platform
import time
from importlib.resources import files
from pathlib import Path

import numpy as np
import torch

from eigenwerk import __version__
from eigenwerk.dft.atom.core_exchange import AGREEMENT, core_exchange, disagreement, screened_core_exchange
from eigenwerk.dft.atom.core_orbitals import core_orbitals, density_error
from eigenwerk.dft.calculation import Calculation
from eigenwerk.dft.crystal.kpoints import mesh_kpoints
from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.crystal.symmetry import find_symmetry
from eigenwerk.dft.settings.parameters import Parameters
from eigenwerk.errors import InputError
from eigenwerk.functionals.hybrid import Hybrid
from eigenwerk.io.paw.paw_library import choose_dataset
from eigenwerk.io.paw.paw_xml import read_paw_xml
from eigenwerk.units import BOHR_ANGSTROM, HARTREE_EV

HERE = Path(__file__)
HSE06 = 0.2
"""Screening, 1/Å."""

SHOWN = ("H", "C", "O", "Mg", "Si", "Ti", "Ni", "Zn", "Ga", "As", "Ce", "Hf", "Au", "Pb")

FCC = (1 - np.eye(3)) / 2
CRYSTALS = {
    # name: edge in Å, symbols, place of the second atom, ENCUT
    "Si": (5.43, ("Si", "Si"), 0.25, 245.0), "MgO": (4.21, ("Mg", "O"), 0.5, 400.0),
    "AlP": (5.463, ("Al", "P"), 0.25, 300.0), "GaAs": (5.653, ("Ga", "As"), 0.25, 250.0),
    "ZnO (zinc blende)": (4.58, ("Zn", "O"), 0.25, 400.0),
}  # fmt: skip
RUNS = [
    *((name, 2, HSE06) for name in CRYSTALS), ("Si", 4, HSE06), ("GaAs", 4, HSE06), ("Si", 2, 0.4), ("GaAs", 2, 0.4),
    ("Si", 2, 0.8), ("GaAs", 2, 0.8),
]  # fmt: skip


def agreement(path) -> dict[str, object]:
    """Recomputed core of a data set beside its own."""
    data = read_paw_xml(path)
    if not data.core:
        return {"name": data.name, "core": "", "used": True}
    shells = core_orbitals(data)
    given_jj, omega = data.exact_exchange_jj, HSE06 * BOHR_ANGSTROM
    bound = [j for j, state in enumerate(data.states) if state.n is not None and state.f > 0]
    long_j = core_exchange(data, shells, omega).diagonal()[bound]
    found = {
        "name": data.name, "generator": data.generator, "core": " ".join(one.name for one in shells),
        "density_electrons": density_error(data, list(shells)),
        "exchange_share": float(disagreement(given_jj, core_exchange(data, shells)).max()),
        "long_range_meV": {data.states[j].id: 1e3 * HARTREE_EV * float(x) for j, x in zip(bound, long_j, strict=True)},
    }  # fmt: skip
    try:
        screened_core_exchange(data, omega)
    except InputError as error:
        return found | {"used": False, "refused": str(error).partition(": ")[2]}
    return found | {"used": True}


def solve(name: str, size: int, screening: float, core_screened: bool) -> dict[str, object]:
    """One ground state; levels in eV."""
    edge, symbols, place, cutoff = CRYSTALS[name]
    structure = Structure(edge * FCC / BOHR_ANGSTROM, symbols, np.array([[0.0] * 3, [place] * 3]))
    datasets = {symbol: read_paw_xml(choose_dataset(symbol, "PBE")) for symbol in structure.species}
    electrons = sum(datasets[symbol].valence for symbol in symbols)
    filled = round(electrons / 2)
    parameters = Parameters(
        cutoff=cutoff / HARTREE_EV, bands=filled + 4, electrons=electrons, precision="Normal",
        hybrid=Hybrid.of(0.25, screening * BOHR_ANGSTROM), core_screened=core_screened, ismear=0,
        width=0.05 / HARTREE_EV, energy_tolerance=1e-6 / HARTREE_EV, max_steps=200, stress=False,
    )  # fmt: skip
    kpoints = mesh_kpoints((size,) * 3, (0.0,) * 3, True, find_symmetry(structure, 1e-5 / BOHR_ANGSTROM, 2))
    started = time.perf_counter()
    state = Calculation(structure, kpoints, parameters, datasets).run().state
    level_kn = state.eig_skn[0].numpy() * HARTREE_EV
    top_k, bottom_k = level_kn[:, filled - 1], level_kn[:, filled]
    return {
        "gap_eV": float(bottom_k.min() - top_k.max()), "gap_at_Gamma_eV": float(bottom_k[0] - top_k[0]),
        "lowest_eV": float(level_kn.min() - top_k.max()), "eV_per_atom": state.energies.free * HARTREE_EV / 2,
        "converged": state.converged, "seconds": round(time.perf_counter() - started, 1),
    }  # fmt: skip


def pages(about: dict[str, object], sets: list[dict], rows: list[dict]) -> str:
    """The tables for readers."""
    text = "# Exchange with the cores, screened and not\n\n"
    text += "Made by `cores.py`.\n\n"
    text += f"{', '.join(f'{key} {value}' for key, value in about.items())}.\n\n## Recomputed cores\n\n"
    text += (
        "Against each data set: its core density (∫|difference|, electrons), its exchange of 1/r with the core "
        f"(largest difference as a share of √(X_ii X_jj); {AGREEMENT:g} is allowed), and what erf(ωr)/r with ω = "
        f"{HSE06} per Å has of X_ii for the occupied states, of which HSE06 has a quarter too much unless it is "
        "screened.\n\n"
        "| data set | core | density | exchange of 1/r | of long range (meV) | used |\n|---|---|---|---|---|---|\n"
    )
    by_name = {one["name"]: one for one in sets}
    for one in (by_name[f"{symbol}.PBE"] for symbol in SHOWN):
        if not one["core"]:
            text += f"| {one['name']} | none | | | | yes |\n"
            continue
        long_ranged = ", ".join(f"{name} {value:.2f}" for name, value in one["long_range_meV"].items())
        text += f"| {one['name']} | {one['core']} | {one['density_electrons']:.1e} | {one['exchange_share']:.1e} | "
        text += f"{long_ranged} | {'yes' if one['used'] else 'refused'} |\n"
    cored = [one for one in sets if one["core"]]
    refused = [one["name"] for one in cored if not one["used"]]
    worst = max(one["exchange_share"] for one in cored if one["used"])
    text += f"\n{len(cored)} PBE sets with a core: {len(cored) - len(refused)} are used, with {worst:.1e} at worst; "
    text += f"refused are {', '.join(refused)}, which lack the exchange with their 4f shell.\n\n## Gaps\n\n"
    text += (
        "HSE06 (25 %), PBE data sets, EDIFF 10⁻⁶ eV. Shift: screened less not screened, meV; the lowest level counts "
        "from the valence band top.\n\n| crystal | mesh | HFSCREEN (1/Å) | gap, not screened (eV) | shift of the gap | "
        "of the gap at Γ | of the lowest level | of the energy per atom |\n|---|---|---|---|---|---|---|---|\n"
    )
    for row in rows:
        plain, screened = row["Plain"], row["Screened"]
        keys = ("gap_eV", "gap_at_Gamma_eV", "lowest_eV", "eV_per_atom")
        shifts = " | ".join(f"{1e3 * (screened[key] - plain[key]):+.2f}" for key in keys)
        text += f"| {row['crystal']} | {row['mesh']} × {row['mesh']} × {row['mesh']} | {row['HFSCREEN']} | "
        text += f"{plain['gap_eV']:.4f} | {shifts} |\n"
    return text


def main() -> None:
    """Everything, written as it comes."""
    torch.set_num_threads(1)
    about = {
        "eigenwerk": __version__, "torch": torch.__version__, "machine": platform.processor() or platform.machine(),
        "cores": os.cpu_count(), "date": time.strftime("%Y-%m-%d"),
    }  # fmt: skip
    paths = sorted(files("gpaw_data").joinpath("setups").glob("*.PBE.gz"))
    sets, rows = [agreement(path) for path in paths], []
    for name, size, screening in RUNS:
        row = {"crystal": name, "mesh": size, "HFSCREEN": screening}
        for word in ("Plain", "Screened"):
            row[word] = solve(name, size, screening, word == "Screened")
        rows.append(row)
        print(row, flush=True)
        document = {"about": about, "data_sets": sets, "runs": rows}
        HERE.with_suffix(".json").write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")
        HERE.with_suffix(".md").write_text(pages(about, sets, rows))


if __name__ == "__main__":
    main()
