"""Which files a run will leave, and about how large they become (no torch: `check` asks)."""

from eigenwerk.cli.moving.words import points
from eigenwerk.dft.inputs.inputs import Inputs
from eigenwerk.dft.inputs.restart import STATE_FILE, WAVE_FILE
from eigenwerk.dft.inputs.steps.field_files import field_sizes, wants_wavecar
from eigenwerk.dft.settings.motion_kind import SCF_STEPS
from eigenwerk.dft.settings.projection import kinds_of_l
from eigenwerk.dft.settings.tags_in_force import whole
from eigenwerk.io.vasp.output.weights.procar import bytes_of as procar_bytes
from eigenwerk.io.vasp.output.weights.projections import columns
from eigenwerk.io.vasp.wavecar import wavecar_bytes

LEVEL_BYTES = {"vasprun.xml": 40, "OUTCAR": 38, "EIGENVAL": 28, "vaspout.h5": 16}
"""Bytes of each band energy with its occupation."""

FIXED_BYTES = {
    "vasprun.xml": 25_000, "OUTCAR": 15_000, "EIGENVAL": 200, "vaspout.h5": 35_000, "OSZICAR": 1200, "CONTCAR": 300,
    "XDATCAR": 300, "DOSCAR": 11_000,
}  # fmt: skip
"""What does not grow with the cell: of files that every run leaves."""

ATOM_BYTES = {"vasprun.xml": 500, "OUTCAR": 250, "CONTCAR": 70, "XDATCAR": 60, "vaspout.h5": 100}

POINT_BYTES = {"vasprun.xml": 160, "OUTCAR": 250, "EIGENVAL": 65, "vaspout.h5": 32}


FIRST_STEPS = 8
"""Steps of self-consistency of a first ionic step."""

FORCE_STEPS = 0.5
"""Time of forces in steps of self-consistency: 0.1 to 0.6 as measured."""


def steps_of_motion(kind: str, ionic_steps: int) -> int:
    """Steps of self-consistency that so many ionic steps are expected to need."""
    return FIRST_STEPS + SCF_STEPS[kind] * (ionic_steps - 1)


STEP_BYTES = {"vasprun.xml": (1440, 265, 135), "OUTCAR": (2260, 757, 90), "OSZICAR": (200, 91, 0),
              "XDATCAR": (27, 0, 61), "trajectory.h5": (280, 0, 72), "vaspout.h5": (200, 56, 72),
              "eigenwerk.h5": (900, 80, 170)}  # fmt: skip
"""Of each further ionic step: itself, each step of self-consistency, each atom."""

CELL_BYTES = {"XDATCAR": 270}
"""Of each further ionic step in a cell that moves."""


def motion_sizes(inputs: Inputs, steps: int) -> dict[str, int]:
    """What so many ionic steps add; nothing for one."""
    motion, atoms, more = inputs.parts.motion, inputs.size.atoms, steps - 1
    if motion is None or more < 1:
        return {}
    cell = CELL_BYTES if motion.moves_cell else {}
    found = {
        name: more * (own + SCF_STEPS[motion.kind] * scf + atom * atoms + cell.get(name, 0))
        for name, (own, scf, atom) in STEP_BYTES.items()
    }  # fmt: skip
    return found | {"trajectory.h5": found["trajectory.h5"] + 24_000}


def output_sizes(inputs: Inputs) -> dict[str, int] | None:
    """Bytes by name, the largest first: exact for WAVECAR, estimates for the others; None for incomplete input.

    Of a relaxation that takes all the ionic steps it may.
    """
    size, waves, found = inputs.parts.size, inputs.parts.waves, inputs.parts
    if size is None or waves is None or found.parameters is None or found.grids is None or found.kpoints is None:
        return None
    levels = size.spins * size.kpoints * size.bands
    sizes = {
        name: fixed + LEVEL_BYTES.get(name, 0) * levels + ATOM_BYTES.get(name, 0) * size.atoms
        + POINT_BYTES.get(name, 0) * size.kpoints
        for name, fixed in FIXED_BYTES.items()
    }  # fmt: skip
    if found.kpoints.mesh is not None:
        sizes["IBZKPT"] = 120 + 75 * size.kpoints
    sizes |= field_sizes(inputs.incar, found.parameters, found.grids)
    wavecar = wavecar_bytes(size.spins, size.kpoints, size.bands, waves.most)
    if wants_wavecar(inputs.incar, wavecar):
        sizes[WAVE_FILE] = wavecar
    for name, count in _projection_sizes(inputs, levels).items():
        sizes[name] = sizes.get(name, 0) + count
    if not inputs.fixed_density:
        # two densities; orbitals on padded spheres with their integers, and the memory of the mixer
        density = 2 * 16 * size.spins * size.density_waves
        kept = bool(inputs.incar.get("LWAVE", True))
        orbitals = (16 * levels + 12 * size.kpoints) * waves.most if kept else 0
        memory = min(16 * levels * waves.most, 8 * size.spins * size.history * size.density_waves) if kept else 0
        sizes[STATE_FILE] = 150_000 + density + orbitals + memory
        if found.parameters.projection is not None:
            numbers = 4 if found.parameters.projection.phases else 2  # weights, averages, phases
            sizes[STATE_FILE] += 8 * numbers * len(columns(11)) * size.atoms * levels
    for name, count in motion_sizes(inputs, points(inputs)).items():
        sizes[name] = sizes.get(name, 0) + count
    return dict(sorted(sizes.items(), key=lambda entry: -entry[1]))


def _projection_sizes(inputs: Inputs, levels: int) -> dict[str, int]:
    """What projections on atoms add."""
    size, parameters = inputs.size, inputs.parameters
    if parameters.projection is None:
        return {}
    count = len(columns(whole(inputs.incar, "LORBIT"), kinds_of_l(inputs.data)))
    lines = whole(inputs.incar, "NEDOS")
    rows = size.atoms * (8 * count + 18)
    return {
        "PROCAR": procar_bytes(size.kpoints, size.spins, size.bands, size.atoms, count, parameters.projection.phases),
        "vasprun.xml": levels * (rows + 90) + lines * size.spins * size.atoms * (10 * count + 30),
        "DOSCAR": lines * size.atoms * (12 + 12 * count * size.spins),
        "vaspout.h5": 8 * size.atoms * count * (levels + lines * size.spins),
    }  # fmt: skip
