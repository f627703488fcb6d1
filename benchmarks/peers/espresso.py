"""Quantum ESPRESSO's side: input of pw.x for a cell, and what its output says."""

import gzip
import re
from pathlib import Path
from typing import Any

from cases import Cell

RYDBERG_EV = 13.605693122994
BOHR_ANGSTROM = 0.529177210903

DATA = {
    "Si": "sssp_pbe_precision_1.3.0_upf/Si.upf", "Al": "sssp_pbe_precision_1.3.0_upf/Al.upf",
    "Mg": "sssp_pbe_precision_1.3.0_upf/Mg.upf", "O": "sssp_pbe_precision_1.3.0_upf/O.upf",
    "Fe": "sssp_pbe_precision_1.3.0_upf/Fe.upf", "H": "jth_paw_sr_pbe_1.1_upf/H_std.upf",
    "Hf": "dojo_nc_sr_pbe_0.4.1_standard_upf/Hf.upf",
}  # fmt: skip
"""PAW and ultrasoft sets of SSSP; norm-conserving Hf, of which SSSP's is not at hand."""

SEMICORE = {"Fe": 4}
"""Bands that the data set has below those of eigenwerk's and GPAW's, for each atom."""


def prepare(cell: Cell, tolerance: float, data: Path, folder: Path) -> list[str]:
    """Write input and data; the arguments of pw.x.

    tolerance: conv_thr, rydberg.  ecutrho is four times ecutwfc, the smallest (and fastest) that holds the density.
    """
    for symbol in cell.species:
        target = folder / f"{symbol}.upf"
        if not target.exists():
            target.write_bytes(gzip.decompress((data / f"{DATA[symbol]}.gz").read_bytes()))
    bands = cell.bands + sum(SEMICORE.get(symbol, 0) for symbol in cell.symbols)
    cutoff = cell.cutoff / RYDBERG_EV
    spin = ""
    if cell.moments is not None:
        spin = "nspin=2, " + ", ".join(
            f"starting_magnetization({i})={_share(cell, symbol):.4f}" for i, symbol in enumerate(cell.species, start=1)
        )
    mesh = "gamma" if cell.mesh == (1, 1, 1) else "automatic\n" + " ".join(map(str, cell.mesh)) + " 0 0 0"
    text = f"""
&control
 calculation='scf', prefix='x', outdir='.', pseudo_dir='.', tprnfor=.true., disk_io='none'
/
&system
 ibrav=0, nat={len(cell.symbols)}, ntyp={len(cell.species)}, nbnd={bands}, ecutwfc={cutoff!r}, ecutrho={4 * cutoff!r},
 occupations='smearing', smearing='fd', degauss={cell.width / RYDBERG_EV!r}, {spin}
/
&electrons
 conv_thr={tolerance!r}, electron_maxstep=100
/
ATOMIC_SPECIES
{_lines(f"{symbol} 1.0 {symbol}.upf" for symbol in cell.species)}
CELL_PARAMETERS angstrom
{_lines(" ".join(map(repr, row)) for row in cell.cell)}
ATOMIC_POSITIONS crystal
{_lines(" ".join([s, *map(repr, x)]) for s, x in zip(cell.symbols, cell.scaled, strict=True))}
K_POINTS {mesh}
"""
    (folder / "x.in").write_text(text)
    pools = [] if cell.mesh == (1, 1, 1) else ["-nk", "2"]
    return [*pools, "-in", "x.in"]


def _lines(rows: Any) -> str:
    return "\n".join(rows)


def _share(cell: Cell, symbol: str) -> float:
    """Starting moment of an element as a share of its valence electrons."""
    assert cell.moments is not None
    return {"Fe": 1 / 16}[symbol] * cell.moments[cell.symbols.index(symbol)]


def read(folder: Path, output: str) -> dict[str, Any]:
    """Energy, steps, estimated error at each step, seconds of the program."""
    (energy,) = re.findall(r"^!\s+total energy\s+=\s+(\S+) Ry", output, re.M)
    history = [float(e) * RYDBERG_EV for e in re.findall(r"^!?\s+total energy\s+=\s+(\S+) Ry", output, re.M)]
    kpoints = re.search(r"number of k points=\s*(\d+)", output)
    waves = re.search(r"Sum\s+\d+\s+\d+\s+(\d+)\s+\d+\s+\d+\s+(\d+)", output)
    version = re.search(r"Program PWSCF v\.(\S+)", output)
    (wall,) = re.findall(r"PWSCF\s+:.*CPU\s+(.*) WALL", output)
    force = [float(f) for line in re.findall(r"atom\s+\d+ type\s+\d+\s+force =(.*)", output) for f in line.split()]
    assert kpoints and version
    return {
        "code": "espresso", "version": version[1], "energy_eV": float(energy) * RYDBERG_EV, "steps": len(history),
        "criterion": [float(x) for x in re.findall(r"estimated scf accuracy\s+<\s+(\S+) Ry", output)],
        "history_eV": history, "seconds": _seconds(wall), "kpoints": int(kpoints[1]),
        "plane_waves": int(waves[2]) if waves else None,
        "force_eV_A": max(map(abs, force)) * RYDBERG_EV / BOHR_ANGSTROM,
    }  # fmt: skip


def _seconds(text: str) -> float:
    """'1m 2.35s' and the like."""
    parts = re.findall(r"([\d.]+)([hms])", text)
    return sum(float(number) * {"h": 3600, "m": 60, "s": 1}[unit] for number, unit in parts)
