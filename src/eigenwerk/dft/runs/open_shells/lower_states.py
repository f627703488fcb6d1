"""Other ground states of one calculation that a run looks for by itself: of molecules and atoms, whose open shells
have several, and where a start from large moments may have ended too high.

What is tried, and why it may be lower: the other modules of this folder.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from eigenwerk.dft.calculation import Calculation, GroundState
from eigenwerk.dft.crystal.stars import under
from eigenwerk.dft.crystal.symmetry import Symmetry, find_symmetry, subgroup
from eigenwerk.dft.density.density import Density, atomic_density
from eigenwerk.dft.density.symmetrise import make_symmetriser
from eigenwerk.dft.energy_terms import potential_builder
from eigenwerk.dft.filling.part_levels import PartLevel
from eigenwerk.dft.inputs.inputs import Inputs
from eigenwerk.dft.inputs.open_shells import GIVEN, is_in_a_box, refills
from eigenwerk.dft.runs.open_shells.broken_symmetry import (
    filled_apart,
    fillings,
    opposed_moments,
    partly_filled,
    told_apart,
    two_fold_groups,
)
from eigenwerk.dft.runs.open_shells.fewer_unpaired import small_moments
from eigenwerk.dft.runs.open_shells.other_orbitals import (
    begun_cold,
    evened_out,
    in_part,
    other_choices,
)
from eigenwerk.dft.scf.bands import density_of_bands
from eigenwerk.dft.scf.cycle import StepCallback
from eigenwerk.dft.scf.state import ScfStep, StartingPoint, State, wanted_bands
from eigenwerk.dft.settings.dataset import has_choices, open_shell_moment
from eigenwerk.units import HARTREE_EV

OnNote = Callable[..., None]

Tried = tuple[str, Calculation, StartingPoint, str]
"""A start that is tried: words, with what it is computed, where it begins, why its state is not taken."""

Attempt = Callable[[GroundState], Tried | None]
"""Finds what may be tried after a state."""

TURNS_FREELY = 2
"""So few operations keep no orientation: an axis, a mirror or an inversion leave at least one turn of all orbitals."""


def is_molecule(calculation: Calculation) -> bool:
    """Whether the atoms are a molecule, with orbitals of one k-point."""
    return is_in_a_box(calculation.structure, calculation.kpoints)


def unsearched_words(calculation: Calculation, state: State, what: str) -> str:
    """What is told of a molecule with a partly filled level where no lower state is looked for; empty for others.

    what: the runs that do not look.
    """
    if not state.converged or not is_molecule(calculation):
        return ""
    levels = partly_filled(state.eig_skn[:, 0], state.occupations.occ_skn[:, 0])
    if not levels:
        return ""
    return (
        f"a level is partly filled ({levels[0].words}): there may be a lower state, which {what} do not look for; a "
        "run with NSW = 0 does, and says by how much it is lower"
    )


@dataclass
class LowerStates:
    """The search of one calculation.

    calculation: that of the lowest state so far; asked_symmetry, asked_moments: whether ISYM, or MAGMOM, is given:
    what was asked for is kept, and what would be lower is told; note: who hears of it; oriented: whether the start
    had whole electrons in its orbitals; held: the operations of the nuclei that keep these orbitals, where the
    calculation has none that do.
    """

    calculation: Calculation
    asked_symmetry: bool
    asked_moments: bool
    on_step: StepCallback | None
    note: OnNote
    oriented: bool = False
    held: Symmetry | None = None

    @staticmethod
    def of(calculation: Calculation, inputs: Inputs, on_step: StepCallback | None, note: OnNote) -> "LowerStates":
        """For the input of a run."""
        given = inputs.incar.values
        return LowerStates(calculation, "ISYM" in given, "MAGMOM" in given, on_step, note)

    def run(self, start: State | StartingPoint | None = None, **how: Any) -> GroundState:
        """`Calculation.run`, and once more from where a lower state may be; `calculation` is that of the result."""
        if not is_molecule(self.calculation):
            return self._tried(self.calculation.run(self.on_step, start, **how), start is None, [], how)
        fresh, start = start is None or self.oriented, start or self._oriented_start()
        if (guide := self._guide()) is not None:
            return self._let_go(guide.run(start, **how), how)
        ground = self.calculation.run(self.on_step, start, **how)
        ground = self._tried(ground, fresh, [self._opposed, self._split], how)
        return self._rearranged(ground, how) if fresh and ground.state.converged else ground

    def _tried(self, ground: GroundState, fresh: bool, attempts: list[Attempt], how: dict[str, Any]) -> GroundState:
        """The lowest of a state and of what attempts lead to, one after the other."""
        for attempt in [self._fewer_unpaired, *attempts] if fresh else attempts:
            found = attempt(ground) if ground.state.converged else None
            if found is not None:
                ground = self._lower(ground, *found, how)
        return ground

    def _guide(self) -> "LowerStates | None":
        """The search for an atom with an open d or f shell whose box holds no orientation (ISYM = 0, -1): with
        operations that do.  Without, mixing follows every turn of the orbitals, which costs next to no energy."""
        calculation = self.calculation
        at_gamma = not calculation.kpoints.point_kc.any()
        if self.held is None or not at_gamma or not self._chooses:
            return None
        other = calculation.at_points(under(calculation.kpoints, self.held))
        return LowerStates(other, False, self.asked_moments, self.on_step, self.note, oriented=True)

    @property
    def _chooses(self) -> bool:
        """Whether there is one atom alone, with an open d or f shell."""
        symbols = self.calculation.structure.symbols
        return len(symbols) == 1 and has_choices(self.calculation.datasets[symbols[0]].states)

    def _let_go(self, guided: GroundState, how: dict[str, Any]) -> GroundState:
        """The state of a guide without its operations."""
        words, done = "from here on without the operations that have held the orientation", guided.state.history
        ground = self.calculation.run(self._after(done, words), guided.state, **how)
        return replace(ground, state=replace(ground.state, history=_joined(done, ground.state.history, words)))

    def _rearranged(self, ground: GroundState, how: dict[str, Any]) -> GroundState:
        """The lowest of several choices of orbitals of an atom with an open d or f shell."""
        calculation, given = self.calculation, self.calculation.parameters
        symmetry = calculation.kpoints.symmetry
        if not self._chooses or not refills(given):
            return ground
        keep_o = two_fold_groups(symmetry)[0]
        if not keep_o.all():
            if self.asked_symmetry:
                return ground
            calculation = calculation.at_points(under(calculation.kpoints, subgroup(symmetry, keep_o)))
        state, words = ground.state, "other fillings of the open shell: its electrons spread evenly, to rank them"
        even = evened_out(calculation, state.moment or 0.0)
        ground, evened = self._aside(ground, even, StartingPoint(state.density, state.coeff_sknG), words)
        starts = [choice.start for choice in other_choices(calculation, state, evened)]
        if in_part(ground.state.occupations.occ_skn):
            starts = [StartingPoint(calculation.symmetrise(calculation.starting_density())), *starts]
        cold, found = begun_cold(calculation), list[State]()
        for number, start in enumerate(starts, 1):
            words = f"once more, with other orbitals filled ({number} of {len(starts)})"
            ground, other = self._aside(ground, cold, start, words)
            found.append(other)
        best = min(found, key=lambda state: state.energies.free)
        above = best.energies.free - ground.state.energies.free
        same = best.converged and abs(above) < cold.parameters.energy_tolerance
        if not calculation.runtime.world.all(above < given.width and not same):
            self.note(f"{len(starts)} other fillings of the open shell were tried: none is lower")
            return ground
        words = f"the lowest of {len(starts)} other fillings of the open shell, with SIGMA as it is given"
        return self._lower(ground, words, calculation, best, "", how)

    def _aside(
        self, ground: GroundState, other: Calculation, start: StartingPoint, words: str
    ) -> tuple[GroundState, State]:
        """Another state, and the one found with the steps to the other in its history."""
        done = ground.state.history
        state = other.run(self._after(done, words), start).state
        return replace(ground, state=replace(ground.state, history=_joined(done, state.history, words))), state

    def _after(self, done: tuple[ScfStep, ...], words: str) -> StepCallback:
        """Tells steps that come after those done so far."""

        def on_step(step: ScfStep, state: State) -> None:
            if self.on_step is not None:
                history = _joined(done, state.history, words)
                self.on_step(_later(step, len(done), words), replace(state, history=history))

        return on_step

    def _lower(
        self, before: GroundState, words: str, other: Calculation, start: State | StartingPoint, kept: str,
        how: dict[str, Any],
    ) -> GroundState:  # fmt: skip
        """The lower of two states: of the one found and, unless it is kept by what was asked for, of another start."""
        world, done = self.calculation.runtime.world, before.state.history

        found = other.run(self._after(done, words), start, **how)
        lower = (before.state.energies.free - found.state.energies.free) * HARTREE_EV
        least = self.calculation.parameters.energy_tolerance * HARTREE_EV
        taken = world.all(found.state.converged and lower > least and not kept)
        if not found.state.converged:
            verdict = "it has not converged, and the state before is taken"
        elif lower <= least:
            verdict = f"the state before is taken: it is lower or the same, by {max(-lower, 0.0):.4f} eV"
        elif kept:
            verdict = f"that state is lower by {lower:.4f} eV, and not taken: {kept}"
        else:
            verdict = f"that state is taken: it is lower by {lower:.4f} eV"
        self.note(f"{words}: {verdict}")
        history = _joined(done, found.state.history, words)
        history = (*history[:-1], history[-1].telling(verdict))
        if not taken:
            return replace(before, state=replace(before.state, history=history))
        self.calculation = other
        return replace(found, state=replace(found.state, history=history))

    @property
    def _free_moments(self) -> bool:
        """Whether nobody has chosen moments."""
        given = self.calculation.parameters
        return given.spins == 2 and not self.asked_moments and given.fixed_moment is None

    def _again(self) -> Calculation:
        """The same calculation, with an operator of exact exchange of its own if there is any."""
        calculation = self.calculation
        return calculation if calculation.exchange is None else calculation.at_points(calculation.kpoints)

    def _fewer_unpaired(self, ground: GroundState) -> Tried | None:
        """Small moments, where s and p electrons carry more than they need and nobody has chosen them."""
        calculation, state = self.calculation, ground.state
        given, symbols = calculation.parameters, calculation.structure.symbols
        if not self._free_moments or given.ismear == GIVEN:
            return None
        moment_a = small_moments(
            symbols, calculation.datasets, given.electrons, state.moment or 0.0, ground.moment_a,
            is_molecule(calculation),
        )  # fmt: skip
        if not calculation.runtime.world.all(moment_a is not None):
            return None
        density = atomic_density(calculation.atoms, given.electrons, moment_a)
        words = f"{abs(state.moment or 0.0):.2f} µB of s and p electrons; once more, from small moments"
        return words, self._again(), StartingPoint(density), ""

    def _opposed(self, ground: GroundState) -> Tried | None:
        """Opposite moments on neighbours, where those of a molecule are parallel or dead and nobody has chosen them."""
        calculation, state = self.calculation, ground.state
        given, structure = calculation.parameters, calculation.structure
        if not self._free_moments:
            return None
        open_a = np.array([open_shell_moment(calculation.datasets[symbol].states) for symbol in structure.symbols])
        moment_a = opposed_moments(structure, state.moment or 0.0, ground.moment_a, _gap(state), open_a)
        if not calculation.runtime.world.all(moment_a is not None):
            return None
        assert moment_a is not None
        symmetry = calculation.kpoints.symmetry
        if symmetry.order > 1:
            found = find_symmetry(replace(structure, magmom_a=moment_a), given.symmetry_tolerance, symmetry.level)
            found = subgroup(found, _common(found.rotation_occ, symmetry.rotation_occ))
            symmetry = subgroup(found, two_fold_groups(found)[0])
        fewer = symmetry.order < calculation.kpoints.symmetry.order
        other = calculation.at_points(under(calculation.kpoints, symmetry)) if fewer else self._again()
        density = atomic_density(other.atoms, given.electrons, moment_a)
        words = "once more, with opposite moments on neighbouring atoms"
        kept = "ISYM is given" if self.asked_symmetry and fewer else ""
        return words, other, StartingPoint(density), kept

    def _split(self, ground: GroundState) -> Tried | None:
        """Whole electrons in the orbitals of partly filled levels."""
        calculation, state = self.calculation, ground.state
        levels = partly_filled(state.eig_skn[:, 0], state.occupations.occ_skn[:, 0])
        if not levels:
            return None
        symmetry = calculation.kpoints.symmetry
        if self.oriented and two_fold_groups(symmetry)[0].all():
            return None
        other, start, _ = _filled_apart(calculation, state.density, state.coeff_sknG, state.occupations.occ_skn, levels)
        less = other.kpoints.symmetry
        fewer = f", with {less.order} of {symmetry.order} operations" if less.order < symmetry.order else ""
        words = f"a level is partly filled ({levels[0].words}); once more, its orbitals one by one{fewer}"
        return words, other, start, "ISYM is given" if self.asked_symmetry and fewer else ""

    def _oriented_start(self) -> StartingPoint | None:
        """Superposed atoms whose partly filled levels hold whole electrons, where no operations hold them alike or
        in their place: rounding would choose the orbitals, and the box turn them.  None where there are none."""
        calculation = self.calculation
        symmetry = calculation.kpoints.symmetry
        open_shells = calculation.parameters.spins == 2 or len(calculation.structure.symbols) == 1
        if not open_shells or symmetry.order > TURNS_FREELY:
            return None
        density = calculation.symmetrise(calculation.starting_density())
        solved = calculation.cycle(StartingPoint(density)).first_bands()
        levels = partly_filled(solved.bands.eig_skn[:, 0], solved.filled.occ_skn[:, 0])
        if not levels:
            return None
        self.oriented = True
        _, start, less = _filled_apart(calculation, density, solved.bands.coeff_sknG, solved.filled.occ_skn, levels)
        self.held = less if less.order > TURNS_FREELY else None
        return StartingPoint(start.density)


def _filled_apart(
    calculation: Calculation, density: Density, coeff_sknG: torch.Tensor, occ_skn: torch.Tensor,
    levels: Sequence[PartLevel],
) -> tuple[Calculation, StartingPoint, Symmetry]:  # fmt: skip
    """The calculation with operations that are left, orbitals of `told_apart` with their density, and the operations
    that keep them.

    Of several groups of operations, in which orbitals lie otherwise in the box, and of the orbitals that may hold the
    electrons, those with the lowest energy of this density.  Where densities are not averaged over operations, orbitals
    lie as those of the nuclei have it: elsewhere the box would turn them.
    """
    given, symmetry = calculation.parameters, calculation.kpoints.symmetry
    nuclei = symmetry if symmetry.order > 1 else find_symmetry(calculation.structure, given.symmetry_tolerance, 2)
    tried: list[tuple[float, Calculation, StartingPoint, Symmetry]] = []
    for keep_o in two_fold_groups(nuclei):
        less = subgroup(nuclei, keep_o)
        other = calculation
        if symmetry.order > less.order:
            other = calculation.at_points(under(calculation.kpoints, less))
        atoms, potential = other.atoms, potential_builder(other.scene.semilocal)(density)
        apart_sknG = told_apart(atoms, make_symmetriser(less, atoms), potential, coeff_sknG, levels)
        for orders in fillings(levels):
            start = _starting_point(other, *filled_apart(apart_sknG, occ_skn, levels, orders))
            free = other.cycle(start).first_bands().energies.free
            tried.append((float(other.runtime.world.broadcast(other.runtime.tensor(free))), other, start, less))
    _, other, start, less = min(tried, key=lambda one: one[0])
    return other, start, less


def _starting_point(calculation: Calculation, coeff_sknG: torch.Tensor, occ_skn: torch.Tensor) -> StartingPoint:
    basis = calculation.basis
    filling_skn = basis.filling(occ_skn)
    made = calculation.symmetrise(density_of_bands(calculation.atoms, coeff_sknG, filling_skn))
    return StartingPoint(made, coeff_sknG, wanted_bands(occ_skn), occ_skn=occ_skn)


def _gap(state: State) -> float:
    """From the highest level that is more than half filled to the lowest that is less, hartree."""
    eig_skn, filled_skn = state.eig_skn, state.occupations.occ_skn > 0.5
    if filled_skn.all() or not filled_skn.any():
        return 0.0
    return float(eig_skn[~filled_skn].amin() - eig_skn[filled_skn].amax())


def _common(some_occ: np.ndarray, others_occ: np.ndarray) -> np.ndarray:
    """Which of some operations are among others; (o,) of bool."""
    known = {rotation_cc.tobytes() for rotation_cc in others_occ}
    return np.array([rotation_cc.tobytes() in known for rotation_cc in some_occ])


def _later(step: ScfStep, done: int, words: str) -> ScfStep:
    """A step of another start, after those done so far."""
    told = replace(step, events=(words, *step.events)) if step.step == 1 else step
    return replace(told, step=done + step.step)


def _joined(done: tuple[ScfStep, ...], history: tuple[ScfStep, ...], words: str) -> tuple[ScfStep, ...]:
    return (*done, *(_later(step, len(done), words) for step in history))
