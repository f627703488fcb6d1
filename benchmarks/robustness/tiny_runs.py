"""Runs of a few seconds: ground states, atoms and cells that move.  Cutoffs are far too low for physics."""

from pathlib import Path
from typing import Any

COMMON = {"EDIFF": "1E-7", "ISMEAR": 0, "SIGMA": 0.05, "LCHARG": "F"}
POSCARS = {
    "he": "helium\n4.0\n1 0 0\n0 1 0\n0 0 1\nHe\n1\nDirect\n0 0 0\n",
    "al": "aluminium\n4.04\n0 .5 .5\n.5 0 .5\n.5 .5 0\nAl\n1\nDirect\n0 0 0\n",
    "h2": "hydrogen\n1.0\n4 0 0\n0 4.2 0\n0 0 5\nH\n2\nCartesian\n2 2 2.1\n2 2.05 2.9\n",
    "si": "silicon\n5.43\n0 .5 .5\n.5 0 .5\n.5 .5 0\nSi\n2\nDirect\n0 0 0\n.25 .25 .25\n",
    "si_off": "silicon\n5.43\n0 .5 .5\n.5 0 .5\n.5 .5 0\nSi\n2\nDirect\n0 0 0\n.26 .24 .255\n",
    "si_small": "silicon\n5.35\n0 .5 .5\n.5 0 .5\n.5 .5 0\nSi\n2\nDirect\n0 0 0\n.25 .25 .25\n",
}
POINTS = {"he": 1, "h2": 1}
MD = {"IBRION": 0, "NSW": 20, "TEBEG": 300}
KINDS: dict[str, tuple[str, tuple[str, dict[str, Any]]]] = {
    "scf": ("self-consistency and forces, Al", ("al", {"ENCUT": 120, "EDIFF": "1E-8", "SIGMA": 0.2})),
    "helium": ("self-consistency and forces, He", ("he", {"ENCUT": 120, "EDIFF": "1E-9"})),
    "ions": ("relaxation, Si2", ("si_off", {"ENCUT": 120, "NSW": 20, "IBRION": 2, "EDIFFG": -0.003, "ISYM": 0})),
    "molecule": ("relaxation, H2", ("h2", {"ENCUT": 150, "NSW": 20, "IBRION": 2, "EDIFFG": -0.003})),
    "cell": ("relaxation of the cell, Si2", ("si_small", {
        "ENCUT": 120, "NSW": 20, "IBRION": 2, "ISIF": 3, "EDIFFG": -0.005,
    })),
    "nve": ("dynamics, NVE, H2", ("h2", {"ENCUT": 150, "POTIM": 0.5, **MD})),
    "langevin": ("dynamics, Langevin, H2", ("h2", {
        "ENCUT": 150, "POTIM": 0.5, "MDALGO": 3, "LANGEVIN_GAMMA": 10, **MD,
    })),
    "chain": ("dynamics, Nosé-Hoover chain, Si2", ("si", {
        "ENCUT": 120, "POTIM": 2.0, "MDALGO": 4, "NHC_NCHAINS": 3, **MD,
    })),
    "npt": ("dynamics, Parrinello-Rahman, Si2", ("si", {
        "ENCUT": 120, "POTIM": 2.0, "MDALGO": 3, "ISIF": 3, "LANGEVIN_GAMMA": 10, "LANGEVIN_GAMMA_L": 10, **MD,
    })),
    "phonons": ("finite displacements, Si2", ("si", {"ENCUT": 120, "NSW": 1, "IBRION": 6, "ISYM": 2})),
    "vibrations": ("finite displacements, H2", ("h2", {"ENCUT": 150, "NSW": 1, "IBRION": 5})),
}  # fmt: skip
"""Words, structure, tags."""


def prepare(folder: Path, kind: str) -> None:
    """The input."""
    folder.mkdir(parents=True)
    structure, given = KINDS[kind][1]
    tags = COMMON | given
    if "NSW" in tags:
        tags["LWAVE"] = "F"  # orbitals are kept on the way; a ground state is restarted from those that it saves
    (folder / "POSCAR").write_text(POSCARS[structure])
    mesh = POINTS.get(structure, 2)
    (folder / "KPOINTS").write_text(f"mesh\n0\nGamma\n{mesh} {mesh} {mesh}\n")
    (folder / "INCAR").write_text("".join(f"{tag} = {value}\n" for tag, value in tags.items()))
