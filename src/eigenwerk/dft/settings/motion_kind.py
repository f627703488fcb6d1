"""Whether atoms move in a run, and how, by its tags: NSW, IBRION, IMAGES; what others must know of kinds (no torch)."""

from eigenwerk.dft.settings.tags_in_force import number_or, whole
from eigenwerk.io.vasp.input.incar import Incar

RELAXATION, DYNAMICS, VIBRATIONS, PATH, DIMER = "relaxation", "dynamics", "vibrations", "path", "dimer"

GOALS = (RELAXATION, PATH, DIMER)
"""Kinds that end where no force is left."""

LEAVE_SYMMETRY = (DYNAMICS, PATH, DIMER)
"""Kinds that leave the symmetry of the start."""

UNSEARCHED = {VIBRATIONS: "vibrations", PATH: "paths"}
"""Kinds that look for no lower states, and words for them."""

SCF_STEPS = {DYNAMICS: 3, RELAXATION: 3, VIBRATIONS: 5, PATH: 5, DIMER: 5}
"""Of self-consistency, of ionic steps after the first: as measured of three kinds (benchmarks/moving/prediction.md)."""

METHODS = {1: "diis", 2: "quasi-newton", 3: "damped"}
"""Of relaxation, by IBRION."""

FIXED = (11, 12)
"""Values of ICHARG that keep the density as it is: of a file, of superposed atoms."""


def kind_of_motion(incar: Incar) -> str | None:
    """By NSW and IBRION; None where nothing moves, or nobody knows what because IBRION is refused."""
    steps, ibrion = whole(incar, "NSW"), incar.values.get("IBRION")
    if stays(incar):
        return None
    if whole(incar, "IMAGES") > 0 and not incar.broken("IBRION"):
        return PATH
    if steps <= 0 or ibrion == -1 or incar.broken("IBRION"):
        return None
    if ibrion in (5, 6):
        return VIBRATIONS
    if ibrion == 44:
        return DIMER
    return RELAXATION if ibrion in METHODS else DYNAMICS


def outside(incar: Incar) -> bool:
    """Whether IBRION leaves the motion to the optimisers of the VTST patches."""
    return incar.values.get("IBRION") == 3 and number_or(incar, "POTIM", 0.5) <= 0


def stays(incar: Incar) -> bool:
    """Whether one ionic step of a density that is kept is asked for: in VASP no atom moves before it ends."""
    kept, moves = incar.values.get("ICHARG") in FIXED, incar.values.get("IBRION", 0) in (0, *METHODS)
    return kept and moves and whole(incar, "NSW") == 1 and whole(incar, "IMAGES") <= 0
