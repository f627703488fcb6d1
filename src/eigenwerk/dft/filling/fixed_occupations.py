"""Occupations that are given (ISMEAR = -2), looked at before they are used (no torch here)."""

from eigenwerk.errors import InputError


def checked_occupations(
    given_sn: tuple[tuple[float, ...], ...], spins: int, bands: int, fixed_moment: float | None
) -> tuple[tuple[float, ...], ...]:
    """The same, (s, n).  Raises InputError if they do not fit the spins and bands, or a moment is fixed besides."""
    if fixed_moment is not None:
        raise InputError("NUPDOWN cannot be combined with ISMEAR = -2, which fixes the moment itself. Remove NUPDOWN.")
    if len(given_sn) != spins:
        raise InputError(
            f"ISMEAR = -2 got occupations for {len(given_sn)} spin channels, but the calculation has {spins}. "
            "Set FERWE alone without spin polarisation, FERWE and FERDO with ISPIN = 2."
        )
    for tag, row in zip(("FERWE", "FERDO"), given_sn, strict=False):
        if len(row) != bands:
            raise InputError(f"{tag} has {len(row)} values, but NBANDS = {bands}. Give one value per band.")
        wrong = [f for f in row if not 0.0 <= f <= 1.0]
        if wrong:
            raise InputError(f"{tag} = {wrong[0]:g} is outside 0 to 1. Occupations count one spin channel.")
    return given_sn
