"""Seconds of one application of exact exchange beside what `eigenwerk plan` says, one thread, processor time.

    python benchmarks/hybrids/application_time.py [--write]

Orbitals are those at the start of a run; the least of four applications counts (tables are made in the first).
--write: into application_time.md beside this file.
"""

import argparse
import os
import platform
import tempfile
import time
from datetime import date
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"

import torch

from eigenwerk import __version__
from eigenwerk.dft.calculation import Calculation
from eigenwerk.dft.exchange.pairs.pair_symmetry import applied_to_own
from eigenwerk.dft.hamiltonian.hamiltonian import Hamiltonian
from eigenwerk.dft.hamiltonian.wavefunctions import starting_orbitals
from eigenwerk.dft.inputs.inputs import read_inputs
from eigenwerk.dft.plan.exchange_cost import application_seconds
from eigenwerk.dft.plan.layout import ProcessLayout
from eigenwerk.dft.plan.machine import processor
from eigenwerk.io.paw.paw_xml import read_paw_xml

FCC = "0 .5 .5\n.5 0 .5\n.5 .5 0\n"
PAIR = "2\nDirect\n0 0 0\n.25 .25 .25\n"
SITES = "0 0 0\n0 .5 .5\n.5 0 .5\n.5 .5 0\n.25 .25 .25\n.25 .75 .75\n.75 .25 .75\n.75 .75 .25\n"
SALT = "1 1\nDirect\n0 0 0\n.5 .5 .5\n"

CASES = {
    # name: (POSCAR after the first line, mesh, INCAR)
    "Si2, 2 x 2 x 2": (f"5.43\n{FCC}Si\n{PAIR}", "2 2 2", "ENCUT = 300"),
    "Si2, 4 x 4 x 4": (f"5.43\n{FCC}Si\n{PAIR}", "4 4 4", "ENCUT = 250"),
    "MgO, 2 x 2 x 2": (f"4.21\n{FCC}Mg O\n{SALT}", "2 2 2", "ENCUT = 400"),
    "SiC without inversion, 2 x 2 x 1": (f"4.36\n{FCC}Si C\n1 1\nDirect\n.01 0 .02\n.25 .26 .25\n", "2 2 1",
                                         "ENCUT = 300"),
    "Si8, Gamma": (f"5.43\n1 0 0\n0 1 0\n0 0 1\nSi\n8\nDirect\n{SITES}", "1 1 1", "ENCUT = 250"),
    "water in a box of 8 Å": ("8\n1 0 0\n0 1 0\n0 0 1\nO H\n1 2\nDirect\n0 0 0\n.1 .07 0\n-.1 .07 0\n", "1 1 1",
                              "ENCUT = 400"),
    "NiO with spins, 2 x 2 x 2": (f"4.18\n{FCC}Ni O\n{SALT}", "2 2 2", "ENCUT = 300\nISPIN = 2\nMAGMOM = 2 0"),
}  # fmt: skip

TRIES = 4


def measured(folder: Path) -> tuple[float, float]:
    """(seconds of an application, those of the plan)."""
    inputs = read_inputs(folder)
    datasets = {symbol: read_paw_xml(path) for symbol, path in inputs.datasets.items()}
    calc = Calculation(inputs.structure, inputs.kpoints, inputs.parameters, datasets)
    hamiltonian = Hamiltonian.of(calc.atoms, calc.builder(calc.symmetrise(calc.starting_density())))
    bands, channels = inputs.parameters.bands, calc.basis.spin.channels
    start = [starting_orbitals(calc.atoms, hamiltonian.block(s), bands)[:, :bands] for s in range(channels)]
    coeff_sknG = torch.stack(start)
    occ_skn = torch.zeros(coeff_sknG.shape[:3], dtype=torch.float64)
    occ_skn[..., : inputs.size.filled] = 1.0
    assert calc.exchange is not None
    operator, found = calc.exchange.operator, []
    for _ in range(TRIES):
        began = time.process_time()
        applied_to_own(operator, coeff_sknG, occ_skn)
        found.append(time.process_time() - began)
    return min(found), application_seconds(inputs.size, ProcessLayout(), processor(0.0, 1))


def main() -> None:
    """All cases."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", action="store_true")
    torch.set_num_threads(1)
    rows = ["| system | measured s | plan s | plan / measured |", "|---|---|---|---|"]
    for name, (poscar, mesh, lines) in CASES.items():
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            (folder / "POSCAR").write_text(f"{name}\n{poscar}")
            (folder / "KPOINTS").write_text(f"mesh\n0\nGamma\n{mesh}\n")
            (folder / "INCAR").write_text(f"LHFCALC = .TRUE.\nHFSCREEN = 0.2\nISMEAR = 0\nSIGMA = 0.05\n{lines}\n")
            took, said = measured(folder)
        rows.append(f"| {name} | {took:.3f} | {said:.3f} | {said / took:.2f} |")
        print(rows[-1], flush=True)
    if parser.parse_args().write:
        made_by = f"eigenwerk {__version__}, PyTorch {torch.__version__}, Python {platform.python_version()}"
        words = (
            "# Seconds of one application of exact exchange\n\nOne thread, processor time, beside `eigenwerk plan` "
            f"(`application_time.py`).\n\n{platform.processor() or platform.machine()}, {os.cpu_count()} cores, "
            f"{date.today()}, {made_by}.\n\n"
        )
        Path(__file__).with_suffix(".md").write_text(words + "\n".join(rows) + "\n")


if __name__ == "__main__":
    main()
