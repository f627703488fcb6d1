"""How many k-groups the ranks form: as KPAR says, or as a small cost model finds best (no torch here)."""

from eigenwerk.errors import InputError

BAND_COST = 0.08
"""Share of time that one more band rank in a group adds: communication, of which k-groups need none."""


def k_groups(ranks: int, kpoints: int, kpar: int | None) -> int:
    """The number of k-groups.  kpoints: irreducible ones; kpar: the user's wish.

    Raises InputError for a wish that ranks or k-points do not allow.  One rank alone has no layout: any wish is fine.
    """
    possible = [groups for groups in range(1, ranks + 1) if ranks % groups == 0 and groups <= kpoints]
    if kpar is None or ranks == 1:
        return min(possible, key=lambda groups: cost(ranks, kpoints, groups))
    if kpar in possible:
        return kpar
    choices = f"Set KPAR to one of {', '.join(map(str, possible))}, or remove it."
    if ranks % kpar:
        raise InputError(f"KPAR = {kpar} does not divide the {ranks} ranks. {choices}")
    raise InputError(f"KPAR = {kpar}, but there are {kpoints} irreducible k-points, so groups would idle. {choices}")


def cost(ranks: int, kpoints: int, groups: int) -> float:
    """Time of a step with so many groups, in that of one k-point on one rank."""
    band_ranks = ranks // groups
    longest = -(-kpoints // groups)
    return longest * (1 + BAND_COST * (band_ranks - 1)) / band_ranks
