"""What a search for a saddle point is asked for."""

from dataclasses import dataclass


@dataclass(frozen=True)
class BandSettings:
    """A band of images between two end points (IMAGES).

    images: between the end points; method: "diis" (IBRION = 1, 2) or "quick-min" (3); most_points: NSW, steps of the
    whole band.  spring: eV/Å², |SPRING|; climb: LCLIMB.  force_tolerance: eV/Å, of the largest force on an atom of an
    image (EDIFFG < 0); energy_tolerance: eV, of the largest change of an image's energy from step to step (EDIFFG > 0);
    both None: all steps are used.  pace: multiplies the steps (2 POTIM for "diis", 0.4 POTIM for "quick-min");
    longest_radius: Å, the farthest that an atom goes in a step (MAXMOVE).
    """

    images: int
    method: str = "diis"
    most_points: int = 100
    spring: float = 5.0
    climb: bool = True
    force_tolerance: float | None = 0.05
    energy_tolerance: float | None = None
    pace: float = 1.0
    longest_radius: float = 0.2


@dataclass(frozen=True)
class DimerSettings:
    """A dimer (IBRION = 44).

    most_points: NSW, points of the surface; force_tolerance: eV/Å, of the largest force on an atom.  separation: Å,
    from the middle to one end (DIMER_DIST); central: whether forces of both ends are computed (FINDIFF = 2), or the
    second one follows from the middle (1); rotations: for each step, at most (MINROT).  trial_step, longest_step: Å, of
    the whole dimer (STEP_SIZE, STEP_MAX).  seed: of the first direction where none is given (RANDOM_SEED).
    """

    most_points: int = 100
    force_tolerance: float = 0.05
    separation: float = 0.01
    central: bool = False
    rotations: int = 1
    trial_step: float = 0.01
    longest_step: float = 0.1
    seed: int = 0
