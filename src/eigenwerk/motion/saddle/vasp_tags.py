"""Searches for saddle points as VASP's tags, and those of the VTST patches, say them."""

from eigenwerk.errors import InputError
from eigenwerk.motion.saddle.saddle_settings import BandSettings, DimerSettings

USUAL_FORCE = 0.05
"""eV/Å, at which a search ends if EDIFFG does not say it."""

BY_IBRION = {1: "diis", 2: "diis", 3: "quick-min"}

BY_IOPT = {1: "diis", 2: "diis", 3: "quick-min", 4: "diis", 7: "quick-min"}
"""Optimisers of the VTST patches (1 LBFGS, 2 conjugate gradients, 3 quick-min, 4 steepest descent, 7 FIRE), which take
the place of IBRION, and what serves in their place here."""


def band_settings_of_tags(
    *, images: int, nsw: int, ibrion: int | None, isif: int = 2, spring: float = -5.0, lclimb: bool = True,
    iopt: int = 0, potim: float | None = None, maxmove: float = 0.2, ediffg: float | None = None,
) -> BandSettings:  # fmt: skip
    """Settings of a run with IMAGES.  ibrion, potim, ediffg: None if not given.  Raises InputError."""
    static = nsw <= 0 or ibrion == -1
    if not static and ibrion not in BY_IBRION and not (iopt and ibrion is None):
        words = "molecular dynamics" if ibrion in (0, None) else "another calculation"
        raise InputError(
            f"IBRION = {0 if ibrion is None else ibrion}: this is {words}, and IMAGES = {images} asks for a path. "
            "Set IBRION = 1, 2 or 3, or remove IMAGES."
        )
    if isif > 2:
        raise InputError(f"ISIF = {isif}: the cell of a path cannot change. Set ISIF = 2.")
    if spring >= 0:
        what = "the images would not hold together" if spring == 0 else (
            "an elastic band that is not nudged, which cuts corners"
        )
        raise InputError(f"SPRING = {spring:g}: {what}. Set SPRING = -5, or remove the line.")
    if maxmove <= 0:
        raise InputError(f"MAXMOVE = {maxmove:g}: no atom could move. Set MAXMOVE = 0.2, or remove the line.")
    method = BY_IOPT[iopt] if iopt else BY_IBRION.get(ibrion or 0, "diis")
    if potim is not None and potim <= 0 and not iopt and ibrion in (1, 3):
        raise InputError(f"POTIM = {potim:g}: no image would move. Set POTIM = 0.5, or IBRION = 2.")
    scale = 0.5 if potim is None or iopt else potim
    whole = 2 * scale if ibrion == 1 and not iopt else 1.0
    energy, force = _ends(ediffg)
    return BandSettings(
        images=images, method=method, most_points=0 if static else nsw, spring=-spring, climb=lclimb,
        force_tolerance=force, energy_tolerance=energy,
        pace=0.4 * scale if method == "quick-min" else whole, longest_radius=maxmove,
    )  # fmt: skip


def _ends(ediffg: float | None) -> tuple[float | None, float | None]:
    """Tolerances of energy and force."""
    if ediffg is None:
        return None, USUAL_FORCE
    return (ediffg if ediffg > 0 else None), (-ediffg if ediffg < 0 else None)


def dimer_settings_of_tags(
    *, nsw: int, isif: int = 2, ediffg: float | None = None, dimer_dist: float = 0.01, findiff: int = 1,
    minrot: int = 1, step_size: float = 0.01, step_max: float = 0.1, random_seed: tuple[int, ...] = (0,),
) -> DimerSettings:  # fmt: skip
    """Settings of an IBRION = 44 run; ediffg: None if not given.  Raises InputError."""
    if isif > 2:
        raise InputError(f"ISIF = {isif}: the cell of a dimer cannot change. Set ISIF = 2.")
    if ediffg is not None and ediffg >= 0:
        raise InputError(
            f"EDIFFG = {ediffg:g}: a saddle point is found by its forces, not by changes of the energy. "
            f"Set EDIFFG = -{USUAL_FORCE:g}."
        )
    return DimerSettings(
        most_points=nsw, force_tolerance=USUAL_FORCE if ediffg is None else -ediffg, separation=dimer_dist,
        central=findiff == 2, rotations=minrot, trial_step=step_size, longest_step=step_max, seed=random_seed[0],
    )  # fmt: skip
