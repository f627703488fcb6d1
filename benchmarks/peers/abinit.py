"""ABINIT's side: input for a cell, and what its output says."""

import gzip
import re
from pathlib import Path
from typing import Any

from cases import Cell

HARTREE_EV = 27.211386245988
BOHR_ANGSTROM = 0.529177210903

DATA = "jth_paw_sr_pbe_1.1_standard_xml"

SEMICORE = {"Fe": 4}
"""Bands that the data set has below those of eigenwerk's and GPAW's, for each atom."""

MANY_BANDS = 80
"""From here on processes share bands, not k-points: three k-points of Al40-slab leave one of two processes idle, and in
the first step LOBPCG reaches a seventh of the residual of band-by-band conjugate gradients in about the same processor
time."""

CHARGES = {"H": 1, "O": 8, "Mg": 12, "Al": 13, "Si": 14, "Fe": 26, "Hf": 72}


def prepare(cell: Cell, tolerance: float, data: Path, folder: Path) -> list[str]:
    """Write input and data; the arguments of abinit.

    tolerance: toldfe, hartree.  The fine grid has twice the cutoff.  Two processes: over k-points (and spins), or,
    at Gamma alone and with many bands, over bands.
    """
    for symbol in cell.species:
        target = folder / f"{symbol}.xml"
        if not target.exists():
            target.write_bytes(gzip.decompress((data / DATA / f"{symbol}.xml.gz").read_bytes()))
    bands = cell.bands + sum(SEMICORE.get(symbol, 0) for symbol in cell.symbols)
    cutoff = cell.cutoff / HARTREE_EV
    spin = ""
    if cell.moments is not None:
        spin = "nsppol 2\nspinat\n" + "\n".join(f"0 0 {m}" for m in cell.moments)
    parallel = _over_bands(cell, bands) if cell.mesh == (1, 1, 1) or bands >= MANY_BANDS else "paral_kgb 0"
    text = f"""
acell 1 1 1 angstrom
rprim
{_lines(" ".join(map(repr, row)) for row in cell.cell)}
ntypat {len(cell.species)}
znucl {" ".join(str(CHARGES[s]) for s in cell.species)}
natom {len(cell.symbols)}
typat {_lines(str(1 + cell.species.index(s)) for s in cell.symbols)}
xred
{_lines(" ".join(map(repr, x)) for x in cell.scaled)}
pp_dirpath "."
pseudos "{", ".join(f"{s}.xml" for s in cell.species)}"
ecut {cutoff!r}
pawecutdg {2 * cutoff!r}
nband {bands}
occopt 3
tsmear {cell.width / HARTREE_EV!r}
ngkpt {" ".join(map(str, cell.mesh))}
nshiftk 1
shiftk 0 0 0
toldfe {tolerance!r}
nstep 100
optforces 2
optstress 0
chkprim 0
pawovlp -1
prtwf 0
prtden 0
prteig 0
prtebands 0
{parallel}
{spin}
"""
    (folder / "x.abi").write_text(text)
    return ["x.abi"]


def _over_bands(cell: Cell, bands: int) -> str:
    """Both processes on the bands of one k-point after the other.

    LOBPCG (wfoptalg 114, the default there) works on blocks of npband x bandpp bands, 2 by default.  ABINIT's tutorial
    on such parallel runs wants blocks as large as possible: the first step of Si64 took 100 s with one of all bands and
    213 s with five, on a busy machine; for the eight bands of H2O blocks make no difference.  At Gamma alone symmetry
    has no k-points to save, and for the 1536 operations of Si64, more than are allowed by default, ABINIT searches for
    longer than half a minute.
    """
    lines = "paral_kgb 1\nnpband 2\nnpfft 1\nnpkpt 1"
    if bands < MANY_BANDS:
        return lines
    lines += f"\nbandpp {bands // 2}"
    return f"{lines}\nnsym 1" if cell.mesh == (1, 1, 1) else lines


def _lines(rows: Any) -> str:
    return "\n".join(rows)


def read(folder: Path, output: str) -> dict[str, Any]:
    """Energy, steps, change of energy at each step, seconds of the program."""
    text = (folder / "x.abo").read_text()
    steps = re.findall(r"^ ETOT\s*\d+\s+(\S+)\s+(\S+)", text, re.M)
    (wall,) = re.findall(r"- Proc\.\s+0 individual time \(sec\): cpu=\s*\S+\s+wall=\s*(\S+)", text)
    (version,) = re.findall(r"^\.Version\s+(\S+)\s+of ABINIT", text, re.M)
    forces = re.search(r"cartesian forces \(eV/Angstrom\) at end:\n((?:\s+\d+.*\n)+)", text)
    kpoints = re.search(r"nkpt\s+=\s*(\d+)", text)
    waves = re.search(r"mpw\s+=\s*(\d+)", text)
    history = [float(energy) * HARTREE_EV for energy, _ in steps]
    assert forces and kpoints and waves
    return {
        "code": "abinit", "version": version, "energy_eV": history[-1], "steps": len(history), "history_eV": history,
        "criterion": [abs(float(change)) for _, change in steps], "seconds": float(wall), "kpoints": int(kpoints[1]),
        "plane_waves": int(waves[1]), "force_eV_A": max(abs(float(x)) for x in _numbers(forces[1])),
    }  # fmt: skip


def _numbers(block: str) -> list[str]:
    return [word for line in block.splitlines() for word in line.split()[1:]]
