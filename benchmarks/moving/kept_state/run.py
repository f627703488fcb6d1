"""Relaxations by ASE's BFGS: what it saves to begin each structure with the state of the one before.

    python benchmarks/moving/kept_state/run.py [--write]

Counts, not times: force calls, steps of self-consistency, applications of H to an orbital.  --write: results.md.
"""

import sys
from pathlib import Path

from ase.build import bulk, molecule
from ase.optimize import BFGS

from eigenwerk.ase import Eigenwerk

HEAD = (
    "# Relaxations with and without the state of the structure before\n\n"
    "By `python benchmarks/moving/kept_state/run.py --write`: BFGS of ASE to 0.02 eV/Å; *fresh* begins each structure "
    "with superposed atoms, *kept* with the density (moved with the atoms) and orbitals of the one before.\n\n"
    "| system | start | force calls | steps of self-consistency | applications of H | energy in the end, eV |\n"
    "|---|---|---|---|---|---|\n"
)


def water():
    """Bent out of shape by a tenth of an ångström."""
    atoms = molecule("H2O", vacuum=3.0)
    atoms.rattle(0.05, seed=3)
    return atoms, {"encut": 400, "ismear": 0, "sigma": 0.01, "kpts": (1, 1, 1)}


def silicon():
    """Eight atoms without symmetry."""
    atoms = bulk("Si", cubic=True)
    atoms.rattle(0.08, seed=3)
    return atoms, {"encut": 245, "ismear": 0, "sigma": 0.05, "kpts": (2, 2, 2)}


def relaxed(make, keep):
    """Force calls, steps, applications of H, energy in eV."""
    atoms, settings = make()
    calls = []

    class Counting(Eigenwerk):
        def calculate(self, *words, **more):
            super().calculate(*words, **more)
            calls.append(self.result.run)

    atoms.calc = Counting(**settings, ediff=1e-6, keep=keep, threads=1)
    BFGS(atoms, logfile=None).run(fmax=0.02, steps=40)
    energy = atoms.get_potential_energy()
    return len(calls), sum(len(run.steps) for run in calls), sum(run.applications for run in calls), energy


def main():
    """The table."""
    text = HEAD
    for name, make in {"water, 400 eV": water, "silicon, 8 atoms, 245 eV": silicon}.items():
        for start, keep in {"fresh": False, "kept": True}.items():
            calls, steps, applications, energy = relaxed(make, keep)
            text += f"| {name} | {start} | {calls} | {steps} | {applications} | {energy:.6f} |\n"
            print(text.splitlines()[-1], flush=True)
    if "--write" in sys.argv:
        Path(__file__).with_name("results.md").write_text(text)


if __name__ == "__main__":
    main()
