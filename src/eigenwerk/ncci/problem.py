"""What a case means: nucleons, orbitals, truncation, quantum numbers and pairs, before anything large is built."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from eigenwerk.errors import InputError
from eigenwerk.ncci.basis.manybody import ManyBodyBasis, many_body_basis
from eigenwerk.ncci.basis.space import ManyBodySpace, Truncation, minimal_quanta, no_core_space, valence_space
from eigenwerk.ncci.inputs.inputs import Case
from eigenwerk.ncci.interaction.two_body import PairSpace
from eigenwerk.ncci.orbitals import Orbitals, no_core_orbitals


@dataclass(frozen=True, eq=False)
class CaseSpace:
    """What a case asks for: its space (of the nucleons that move, without a core) and the pairs of orbitals in it.

    hw: the oscillator quantum of the orbitals, MeV.  core: protons and neutrons of the core of a valence space, else
    None.
    """

    space: ManyBodySpace
    pairs: PairSpace
    hw: float
    core: tuple[int, int] | None = None

    @property
    def lowest(self) -> int:
        """Weight of the lowest configuration."""
        return sum(self.space.lowest_weights())

    @property
    def whole(self) -> bool:
        """Whether all states in the orbitals belong to it, as in valence spaces."""
        limits = self.space.truncation
        return not (np.any(limits.weight_p_a) or np.any(limits.weight_n_a))

    def basis(self) -> ManyBodyBasis:
        """All states."""
        return many_body_basis(self.space)


def no_core_problem(case: Case) -> CaseSpace:
    """The space of a case without a core, truncated by Nmax or by weights.  Raises InputError for a wrong parity."""
    nucleus = case.nucleus
    _refuse_without_effect(case, ("core", "orbitals", "scaling"), "without a core, where all nucleons move")
    if case.hw is None:
        raise InputError(f"{case.path} lacks hw, the oscillator quantum in MeV. Write for example hw = 20.")
    if any(limit is not None for limit in case.weights):
        space = _by_weights(case)
    elif case.max_excitation is None:
        raise InputError(f"{case.path} lacks Nmax. Write Nmax = 2, or limits in a table [basis].")
    else:
        space = no_core_space(nucleus.protons, nucleus.neutrons, case.max_excitation, case.twice_m)
        _refuse_other_parity(case, space.parity)
    return CaseSpace(space, pair_space(space), case.hw)


def _refuse_without_effect(case: Case, keys: Sequence[str], where: str) -> None:
    """Raises InputError for keys that stand in the case but would change nothing."""
    idle = sorted({key.split(".")[0] for key in case.given if key in keys or key.split(".")[0] in keys})
    if idle:
        shown = ", ".join("[basis]" if key == "basis" else key for key in idle)
        raise InputError(f"{case.path}: {shown} would have no effect {where}. Remove {shown}.")


def usual_hw(nucleons: int) -> float:
    """45 A^(-1/3) - 25 A^(-2/3) MeV, the oscillator quantum that fits charge radii.

    Source: J. Blomqvist and A. Molinari, Nucl. Phys. A 106, 545 (1968).
    """
    return 45.0 * nucleons ** (-1 / 3) - 25.0 * nucleons ** (-2 / 3)


def valence_problem(
    case: Case, core: tuple[int, int], orbitals_p: Orbitals, orbitals_n: Orbitals, file_hw: float | None = None
) -> CaseSpace:
    """All states of the nucleons outside a core.  Raises InputError where they do not fit.

    file_hw: the oscillator quantum that the interaction file names, MeV.
    """
    _refuse_without_effect(case, ("coulomb", "lawson", "basis"), "in a valence space, where the interaction is all")
    made_for = case.file_hw or file_hw
    if made_for is not None and case.hw is not None and abs(made_for - case.hw) > 1e-6 * made_for:
        raise InputError(
            f"{case.path}: hw = {case.hw:g} MeV, but {case.interaction} belongs to {made_for:g} MeV. Remove the key hw."
        )
    protons, neutrons = case.nucleus.protons - core[0], case.nucleus.neutrons - core[1]
    if protons < 0 or neutrons < 0:
        raise InputError(
            f"{case.nucleus.name} has {case.nucleus.protons} protons and {case.nucleus.neutrons} neutrons, less than "
            f"the core of {case.interaction} with {core[0]} and {core[1]}. Choose a nucleus outside the core."
        )
    if protons + neutrons < 1:
        raise InputError(
            f"{case.nucleus.name} has no nucleon outside the core of {case.interaction} ({core[0]} protons, {core[1]} "
            "neutrons), so there is nothing to compute. Choose a nucleus with more."
        )
    if case.max_excitation is not None:
        raise InputError(f"{case.path}: Nmax has no meaning in a valence space, which is taken whole. Remove it.")
    signs = {"+": 0, "-": 1}
    parity = signs[case.parity] if case.parity in signs else _lowest_parity(orbitals_p, protons)
    if case.parity not in signs:
        parity = (parity + _lowest_parity(orbitals_n, neutrons) + (case.parity == "unnatural")) % 2
    space = valence_space(orbitals_p, orbitals_n, protons, neutrons, case.twice_m, parity)
    return CaseSpace(space, pair_space(space), case.hw or made_for or usual_hw(case.nucleus.nucleons), core)


def pair_space(space: ManyBodySpace) -> PairSpace:
    """The pairs of orbitals that occur in the states of a space."""
    limits = space.truncation
    room = {kind: limits.max_total - sum(space.lowest_weights(without=kind)) for kind in ("pp", "nn", "pn")}
    room["pp"] = min(room["pp"], limits.max_p - space.lowest_weights(without="pp")[0])
    room["nn"] = min(room["nn"], limits.max_n - space.lowest_weights(without="nn")[1])
    return PairSpace(
        space.orbitals_p,
        space.orbitals_n,
        float(room["pp"]),
        float(room["nn"]),
        float(room["pn"]),
        np.asarray(limits.weight_p_a),
        np.asarray(limits.weight_n_a),
    )


def _by_weights(case: Case) -> ManyBodySpace:
    """Limits on the sums of quanta of protons, neutrons and all; the parity is that of the lowest state or as given."""
    nucleus = case.nucleus
    if case.max_excitation is not None:
        raise InputError(f"{case.path} gives both Nmax and a table [basis]. Remove one of them.")
    (least_p, _), (least_n, _) = minimal_quanta(nucleus.protons), minimal_quanta(nucleus.neutrons)
    total = case.weights[2] if case.weights[2] is not None else sum(w for w in case.weights[:2] if w is not None)
    if case.weights[2] is None and None in case.weights[:2]:
        raise InputError(f"{case.path}: [basis] limits one species only. Write all = ..., or protons and neutrons.")
    if total < least_p + least_n:
        raise InputError(
            f"{case.path}: [basis] all = {total} quanta, but {nucleus.name} has at least {least_p + least_n}. "
            f"Set all = {least_p + least_n} or more."
        )
    max_p, max_n = (total if limit is None else limit for limit in case.weights[:2])
    for limit, least, key in ((max_p, least_p, "protons"), (max_n, least_n, "neutrons")):
        if limit < least:
            raise InputError(f"{case.path}: [basis] {key} = {limit}, but the lowest state has {least}. Set {least}.")
    highest = max(
        _highest_shell(nucleus.protons, min(max_p, total - least_n)),
        _highest_shell(nucleus.neutrons, min(max_n, total - least_p)),
    )
    orbitals = no_core_orbitals(highest)
    natural = (least_p + least_n) % 2
    parity = {"+": 0, "-": 1, "unnatural": 1 - natural}.get(case.parity or "natural", natural)
    limits = Truncation(orbitals.quanta_a, orbitals.quanta_a, max_p, max_n, total)
    return ManyBodySpace(nucleus.protons, nucleus.neutrons, orbitals, orbitals, limits, case.twice_m, parity)


def _highest_shell(nucleons: int, limit: int) -> int:
    """The highest shell a nucleon can reach while the others lie lowest."""
    return max(0, limit - minimal_quanta(nucleons - 1)[0]) if nucleons else 0


def _lowest_parity(orbitals: Orbitals, nucleons: int) -> int:
    """Parity of the nucleons in the first orbitals."""
    return int(orbitals.states().parity_x[:nucleons].sum()) % 2


def _refuse_other_parity(case: Case, parity: int) -> None:
    """The parity of Nmax quanta is fixed: an even Nmax is natural parity."""
    size = case.max_excitation or 0
    kind = "natural" if size % 2 == 0 else "unnatural"
    sign = "+-"[parity]
    if case.parity is None or case.parity in (kind, sign):
        return
    near = f"Nmax = {size - 1} or {size + 1}" if size else "Nmax = 1"
    raise InputError(
        f"{case.path}: parity = '{case.parity}', but Nmax = {size} gives {case.nucleus.name} {kind} parity ({sign}). "
        f"Set {near}, or remove the line parity."
    )
