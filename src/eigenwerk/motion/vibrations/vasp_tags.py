"""Vibrations as VASP's tags say them."""

from eigenwerk.errors import InputError
from eigenwerk.motion.vibrations.vibrations import LARGEST_STEP, USUAL_STEP, VibrationSettings


def vibration_settings_of_tags(
    *, ibrion: int, isif: int = 2, potim: float | None = None, nfree: int | None = None
) -> tuple[VibrationSettings, tuple[tuple[str, str], ...]]:
    """Settings of an IBRION = 5 or 6 run, and what a user should know of them: the tag, a sentence.

    potim: Å; None if it is not given.  As in VASP a POTIM above 0.1 Å, which is meant for relaxations, is replaced.
    Raises InputError for what is not available.
    """
    if ibrion in (7, 8):
        raise InputError(
            f"IBRION = {ibrion}: linear response (perturbation theory) is not available. "
            f"Set IBRION = {ibrion - 2}, which takes finite differences of forces."
        )
    if ibrion not in (5, 6):
        raise InputError(f"IBRION = {ibrion} is not about vibrations. Set IBRION = 6, or 5 to use no symmetry.")
    notes = []
    if potim is not None and potim > LARGEST_STEP:
        notes.append(("POTIM", f"too large for finite differences: atoms move by {USUAL_STEP} Å"))
        potim = None
    if nfree == 1:
        notes.append(("NFREE", "forward differences contain third derivatives; with NFREE = 2 they do not"))
    if isif >= 3 and ibrion == 5:
        notes.append(("ISIF", "elastic constants come with IBRION = 6, not with 5"))
    settings = VibrationSettings(
        displacement=USUAL_STEP if potim is None else potim,
        samples=2 if nfree is None else nfree,
        symmetry=ibrion == 6,
        strains=ibrion == 6 and isif >= 3,
    )
    return settings, tuple(notes)
