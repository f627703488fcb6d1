"""The self-consistency of exact exchange as a stage of the cycle (`ExchangeLoop` holds where it stands).

And the cycle with all its stages, with exact exchange or without.
"""

from dataclasses import replace
from typing import Any

import torch

from eigenwerk.dft.density.density import Density, moment_per_atom
from eigenwerk.dft.energy_terms import potential_builder
from eigenwerk.dft.exchange.exact_exchange import ExactExchange
from eigenwerk.dft.filling.occupations import Occupations
from eigenwerk.dft.scf.cycle import Cycle, StepCallback
from eigenwerk.dft.scf.stages.branches import Branches, asked_moments, dead_moments
from eigenwerk.dft.scf.stages.exchange_loop import CORES, ExchangeLoop
from eigenwerk.dft.scf.stages.force_goal import ForceGoal
from eigenwerk.dft.scf.stages.ghosts import Ghosts
from eigenwerk.dft.scf.stages.stage import KEPT, NEW, RENEWED, CycleScene, Frozen, Stage, Verdict
from eigenwerk.dft.scf.state import ScfStep, Solved, StartingPoint, State
from eigenwerk.dft.terms.builder import PotentialBuilder
from eigenwerk.dft.terms.term import Scene


def cycle_of(
    scene: CycleScene, builder: PotentialBuilder, exchange: ExactExchange | None, start: StartingPoint,
    goal: ForceGoal | None = None, on_step: StepCallback | None = None, repeatable: bool = False,
) -> Cycle:  # fmt: skip
    """With its stages, in their order; exchange: what `builder` has of it; goal: of forces, if they are wanted."""
    given, frozen = scene.system.parameters, Frozen(scene.settings.frozen_steps)
    if exchange is None:
        stages = [frozen, Ghosts(scene), Branches(scene), *([] if goal is None else [goal])]
        return Cycle(scene, builder, start, stages, on_step, repeatable)
    semilocal = potential_builder(Scene(scene.atoms, given, scene.symmetrise.symmetry).semilocal)
    loop = ExchangeLoop(exchange, builder, semilocal, given.energy_tolerance, CORES[given.core_screened])
    if goal is not None:
        loop.aim(goal.asked)
    stages = [frozen, Ghosts(scene, loop.relative), ExchangeStage(scene, loop, goal), Branches(scene, asks=False)]
    return Cycle(scene, lambda density: loop.builder(density), start, stages, on_step, repeatable)


class ExchangeStage(Stage):
    """goal: who is asked, once the operator is good enough, before its change is measured."""

    def __init__(self, scene: CycleScene, loop: ExchangeLoop, goal: Stage | None = None):
        self.scene, self.loop, self.goal = scene, loop, goal
        self._lacking: Verdict | None = None

    def begin(self, start: StartingPoint) -> tuple[str, Density]:
        """As it stood, or with the orbitals of a start."""
        loop, scene, density = self.loop, self.scene, start.density
        loop.started_a = asked_moments(scene, start)
        if start.exchange is not None:
            loop.restore(start.exchange)
        elif start.coeff_sknG is not None and start.occ_skn is not None:
            if start.semilocal and density.spin.polarised and scene.settings.fixed_moment is None:
                loop.started_a = scene.system.structure.magmom_a
                words, held = self._held(density)
                if held is not None:
                    return words, held
            words = loop.renew(start.coeff_sknG, start.occ_skn, scene.atoms.basis.filling(start.occ_skn))
            return f"before this step {words}", density
        return "", density

    def tolerance(self, given: float) -> float:
        """That for the operator there is."""
        return self.loop.tolerance

    def occupied(self, filled: Occupations, eig_skn: torch.Tensor) -> Occupations:
        """With the symmetry of the crystal, unless they are given."""
        return filled if self.scene.settings.smearing.fixed_sn is not None else self.loop.evened(filled, eig_skn)

    def settled(self, state: State, solved: Solved, last: bool) -> tuple[State, str]:
        """With the energy of its own exchange if that is within the tolerance of what it was found with; else on its
        way, with a new operator of its orbitals, or before that with moments that are held."""
        loop, record, words, mixer = self.loop, state.history[-1], "", KEPT
        self._lacking = self.goal.objection(state) if loop.ripe and self.goal is not None and not last else None
        if self._lacking is not None:
            return state, mixer
        if loop.ripe:
            energies, words = loop.measure(state.coeff_sknG, solved.filling_skn, state.energies)
            state, record = replace(state, energies=energies), replace(record, energies=energies)
        if not loop.measured:
            words, held = self._held(state.density)
            if held is not None:
                state, mixer = replace(state, following=held), NEW
            else:
                words, mixer = loop.renew(state.coeff_sknG, solved.filled.occ_skn, solved.filling_skn), RENEWED
        history = (*state.history[:-1], record.telling(words))
        return replace(state, history=history, converged=loop.measured, **self.memory()), mixer

    def remarks(self, steps: list[ScfStep], state: State, converged: bool) -> tuple[str, ...]:
        """What is missing."""
        return () if converged else (self.loop.lacking,)

    def objection(self, state: State) -> Verdict | None:
        """That of the goal, if it had one."""
        return self._lacking

    def memory(self) -> dict[str, Any]:
        """Where it stands."""
        return {"exchange": self.loop.memory()}

    def end(self, state: State) -> State:
        """Orbitals of other points feel the exchange with those of the end."""
        self.loop.exchange.settle(state.coeff_sknG, state.occupations.occ_skn)
        return state

    def _held(self, density: Density) -> tuple[str, Density | None]:
        """Where the semilocal functional has kept no moments before there is an operator: words, and the density of
        atoms with moments that are held from here on."""
        loop, scene, system = self.loop, self.scene, self.scene.system
        if not loop.asks:
            return "", None
        assert loop.started_a is not None
        ended_a = moment_per_atom(density, scene.atoms)
        moment_a = dead_moments(system.structure.symbols, system.datasets, loop.started_a, ended_a)
        if not scene.atoms.runtime.world.all(moment_a is not None):
            return loop.hold(None), None
        assert moment_a is not None
        return loop.hold(moment_a), scene.with_moments(moment_a)
