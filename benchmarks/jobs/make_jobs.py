"""Writes the folders of the reference jobs: INCAR, POSCAR, KPOINTS of each.

    python benchmarks/jobs/make_jobs.py             # all of them, into build/jobs
    python benchmarks/jobs/make_jobs.py --only pdo4 --into DIR

The structures come from `crystals.py`.  Each INCAR asks for the ground state by GGA; what the original job asks beyond
that stands in it as a comment.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import crystals
import numpy as np

from eigenwerk.dft.building.supercell import supercell
from eigenwerk.io.vasp.input.poscar import Poscar

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from vasp_folders import BUILD, write_folder, write_wanted  # noqa: E402

HSE = "LHFCALC = .TRUE., HFSCREEN = 0.2 (HSE06)"


@dataclass(frozen=True)
class Job:
    """One folder: title, structure, tags (with comments), mesh, and what the original asks beside this."""

    name: str
    title: str
    structure: Callable[[], Poscar]
    tags: dict[str, str]
    mesh: tuple[int, int, int] = (1, 1, 1)
    original: tuple[str, ...] = ()


def _hafnia(atoms: int, cells: tuple[int, int, int], bands: int) -> Job:
    return Job(
        f"hfo2_{atoms}",
        f"HfO2, monoclinic, {cells[0]} x {cells[1]} x {cells[2]} cells, {atoms} atoms",
        lambda: crystals.hafnia(cells),
        # PREC as it was measured, here and below: by default oxides and boron have larger grids
        {"PREC": "Normal", "ENCUT": "400", "NBANDS": str(bands), "ISMEAR": "0", "SIGMA": "0.05", "EDIFF": "1E-6"},
        (2, 2, 2),
        (f"{HSE}, ALGO = Damped or All",),
    )


def _silicon(name: str, title: str, structure: Callable[[], Poscar], cutoff: int, bands: int, *original: str) -> Job:
    tags = {"ENCUT": str(cutoff), "NBANDS": str(bands), "ISMEAR": "0", "SIGMA": "0.05", "EDIFF": "1E-6"}
    return Job(name, title, structure, tags, original=original)


PALLADIUM = {"SETUPS": "Pd:10   ! 10 electrons, as in the original", "PREC": "Normal", "ENCUT": "320"}
METAL = {"ISMEAR": "1", "SIGMA": "0.2", "EDIFF": "1E-6"}
RMM_DIIS = {"ALGO": "VeryFast"}
GRID_70 = {"NGX": "70", "NGY": "70"}

JOBS = (
    _silicon(
        "si255_vacancy", "Si256 with a vacancy, body-centred 4 x 4 x 4 supercell",
        lambda: crystals.with_vacancy(crystals.silicon_body_centred(4)), 300, 640, f"{HSE}, ALGO = Damped or All",
    ),
    Job(
        "b_hr105", "boron, beta-rhombohedral, 105 atoms", crystals.boron,
        {"PREC": "Normal", "ENCUT": "370", "NBANDS": "256", "ISMEAR": "0", "SIGMA": "0.05", "EDIFF": "1E-6"},
        original=(f"{HSE}, ALGO = Damped or All",),
    ),
    Job(
        "pdo4", "Pd300 O48: oxygen on both faces of ten layers of Pd(100)",
        lambda: supercell(crystals.palladium_oxygen(9.5), np.diag([2, 1, 1])),
        {**PALLADIUM, "NBANDS": "2048", **METAL, **RMM_DIIS},
    ),
    Job(
        "pdo2", "Pd150 O24: half the cell of pdo4", lambda: crystals.palladium_oxygen(9.5),
        {**PALLADIUM, "NBANDS": "1024", **METAL, **RMM_DIIS},
    ),
    Job(
        "gaasbi_64", "Ga32 As31 Bi, a substitution in 2 x 2 x 2 cells", crystals.gallium_arsenide_bismide,
        {
            "ENCUT": "410", **GRID_70, "NGZ": "70", "NBANDS": "192", "ISMEAR": "0", "SIGMA": "0.1", "EDIFF": "1E-6",
            "ISYM": "0   ! k and -k only: 36 points", "KPAR": "2",
            "ALGO": "Fast",
        },
        (4, 4, 4),
    ),
    Job(
        "cuc_vdw", "Cu96 C2: a carbon dimer on six layers of Cu(111)", lambda: crystals.copper_carbon(20.3),
        {"ENCUT": "460", **GRID_70, "NGZ": "210", "NBANDS": "640", **METAL, "ISYM": "0   ! k and -k only: 5 points"},
        (3, 3, 1), ("LUSE_VDW = .TRUE., GGA = BO, PARAM1 = 0.1833333333, PARAM2 = 0.22, AGGAC = 0 (optB88-vdW)",),
    ),
    _silicon(
        "si127_defect", "Si128 with a vacancy, 4 x 4 x 4 primitive cells",
        lambda: crystals.with_vacancy(crystals.silicon_primitive(4)), 250, 320,
        "after the ground state ALGO = ACFDT (RPA) from 23 506 bands by exact diagonalisation",
    ),
    _hafnia(96, (2, 2, 2), 512),
    _hafnia(216, (3, 3, 2), 1280),
    _hafnia(324, (3, 3, 3), 1792),
    _hafnia(576, (4, 4, 3), 3072),
    _hafnia(768, (4, 4, 4), 3840),
    Job(
        "h256_md", "128 hydrogen molecules, hexagonal close-packed, random directions",
        lambda: crystals.solid_hydrogen(4, seed=1),
        {"ENCUT": "350", "NBANDS": "264", "ISMEAR": "0", "SIGMA": "0.05", "EDIFF": "1E-6", "ISYM": "0", "IALGO": "48"},
        original=("IBRION = 0, NSW = 10 (molecular dynamics)",),
    ),
    _silicon(
        "si512", "Si512, 4 x 4 x 4 cubic cells, perfect",
        lambda: supercell(crystals.silicon(), np.diag([4, 4, 4])), 250, 1152,
    ),
)  # fmt: skip


def write_job(job: Job, into: Path) -> Path:
    """The three files of a job in a folder of its name."""
    tags = {"SYSTEM": job.title, "GGA": "PE", **job.tags, "LWAVE": ".FALSE."}
    title = " x ".join(map(str, job.mesh))
    return write_folder(into / job.name, replace(job.structure(), title=job.title), tags, job.mesh, title, _notes(job))


def _notes(job: Job) -> str:
    if not job.original:
        return ""
    title = "# The original asks for this besides; the folder is for the ground state by GGA:"
    lines = ["", title, *(f"#   {words}" for words in job.original)]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    write_wanted(__doc__, JOBS, write_job, BUILD / "jobs")
