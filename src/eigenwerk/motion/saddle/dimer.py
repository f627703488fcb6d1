"""A dimer that climbs to a saddle point along the direction of lowest curvature, by ASE's implementation.

Two points R ± N D about the middle R; N is turned until the curvature C = (F₂ - F₁)·N / 2D is smallest, and the middle
moves by F - 2 (F·N) N, or, where C > 0, by -(F·N) N.
Sources: G. Henkelman and H. Jónsson, J. Chem. Phys. 111, 7010 (1999); A. Heyden, A. T. Bell and F. J. Keil, J. Chem.
Phys. 123, 224101 (2005).  Needs the package ase.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from eigenwerk.motion.mover import Report
from eigenwerk.motion.relaxation.chart import Chart
from eigenwerk.motion.saddle.nudged import require_ase
from eigenwerk.motion.saddle.pulled import Evaluate, Pulled
from eigenwerk.motion.saddle.saddle_settings import DimerSettings
from eigenwerk.motion.surface import Arrangement, SurfacePoint
from eigenwerk.shown import counted

ERROR_SHARE = 0.02
"""How well forces have to be known: a change of them by a curvature of so many eV/Å² over the separation is nothing."""

MANY = 10**9


class Dimer:
    """A Mover.  direction_av: of the dimer at the start, Å, of any length, or None for a random one."""

    def __init__(
        self, settings: DimerSettings, start: Arrangement, direction_av: np.ndarray | None, free_ac: np.ndarray | None
    ) -> None:
        require_ase("The dimer method (IBRION = 44)")
        self._settings, self._start = settings, start
        free = np.ones(start.scaled_ac.shape, bool) if free_ac is None else np.array(free_ac, bool)
        self._chart = Chart(np.array(start.lattice_cv, float), free, np.zeros((0, 6)))
        if direction_av is None or not np.any(direction_av):
            direction_av = np.random.default_rng(settings.seed).normal(size=start.scaled_ac.shape)
        direction_av = self._chart.project_ions(np.asarray(direction_av, dtype=float))
        size = float(np.linalg.norm(direction_av))
        if size < 1e-12:
            raise ValueError("nothing that may move has a part in the direction of the dimer")
        self.direction_av = direction_av / size
        self.status, self.finished = "nothing was computed yet", False
        self.curvature: float | None = None
        self._ended = self._last = False
        self._answers: list[tuple[float, np.ndarray]] = []
        self._middle_av = start.position_av
        self._what, self._steps, self._arrived = "middle", 0, False
        self._search = Pulled(self._climb)

    # -- the search, in its own thread -------------------------------------------------------------------------------

    def _climb(self, evaluate: Evaluate) -> None:
        """ASE's search, to its end."""
        from ase import Atoms
        from ase.calculators.calculator import Calculator, all_changes
        from ase.mep.dimer import DimerControl, MinModeAtoms, MinModeTranslate

        mover, settings = self, self._settings

        class Surface(Calculator):
            """What the search sees of the energy surface."""

            implemented_properties = ["energy", "forces"]  # noqa: RUF012

            def calculate(self, atoms: Any = None, properties: Any = (), system_changes: Any = all_changes) -> None:
                super().calculate(atoms, properties, system_changes)
                energy, force_av = evaluate(atoms.get_positions())
                self.results = {"energy": energy, "forces": force_av}

        class Control(DimerControl):
            """With values of its own: ASE keeps them in the class."""

            parameters = dict(DimerControl.parameters)  # noqa: RUF012

        class Watched(MinModeAtoms):
            """Tells where the middle is, and what is computed."""

            def calculate_real_forces_and_energies(self, **more: Any) -> None:
                mover._middle_av, mover._what = self.atoms.get_positions(), "middle"
                super().calculate_real_forces_and_energies(**more)
                mover._what = "end of the dimer"

            def find_eigenmodes(self, order: int = 1) -> None:
                super().find_eigenmodes(order)
                mover.direction_av, mover.curvature = np.array(self.get_eigenmode()), float(self.get_curvature())
                mover._what, mover._steps = "trial step", mover._steps + 1

        control = Control(
            logfile=None, eigenmode_logfile=None, dimer_separation=settings.separation,
            use_central_forces=not settings.central, max_num_rot=settings.rotations,
            extrapolate_forces=settings.rotations > 1, trial_trans_step=settings.trial_step,
            maximum_translation=settings.longest_step,
        )  # fmt: skip
        # ASE looks at positions only, whatever the atoms are
        atoms = Atoms("X" * len(self._start.scaled_ac), self._start.position_av, cell=self._start.lattice_cv, pbc=True)
        atoms.calc = Surface()
        dimer = Watched(atoms, control, eigenmodes=[self.direction_av.copy()], random_seed=settings.seed)
        self._arrived = bool(MinModeTranslate(dimer, logfile=None).run(fmax=settings.force_tolerance, steps=MANY))

    # -- the mover ---------------------------------------------------------------------------------------------------

    @property
    def points(self) -> int:
        """Computed so far."""
        return len(self._answers)

    def ask(self) -> Arrangement | None:
        if self._ended:
            return None
        place_av = self._middle_av if self._last else self._search.wanted()
        moved_ac = (place_av - self._start.position_av) @ np.linalg.inv(self._start.lattice_cv)
        scaled_ac = self._start.scaled_ac + np.where(self._chart.free_ac, moved_ac, 0.0)
        return Arrangement(self._start.lattice_cv, scaled_ac, ERROR_SHARE * self._settings.separation)

    def tell(self, point: SurfacePoint) -> Report:
        if not point.converged:
            self._ended, self.status = True, "given up: the electrons do not converge"
            self._search.close()
            return Report(words=(self.status,))
        force_av = self._chart.project_ions(point.forces_av)
        largest = float(np.linalg.norm(force_av, axis=1).max())
        what = self._take(point.free_energy, force_av)
        if self._ended:
            self.status = self._end(largest)
        else:
            shape = "" if self.curvature is None else f", curvature {self.curvature:.3f} eV/Å²"
            self.status = f"step {self._steps} of the dimer: largest force {largest:.2e} eV/Å{shape}"
        return Report(
            largest_force=largest if what == "middle" else None, curvature=self.curvature,
            direction_av=self.direction_av, words=(what,),
        )  # fmt: skip

    def _take(self, energy: float, force_av: np.ndarray) -> str:
        """Hand an answer on; what the point was."""
        self._answers.append((energy, force_av))
        if self._last:
            self._ended = True
            return "middle"
        what = self._what
        self._search.answer((energy, force_av))
        over = self._search.wanted() is None
        if over or self.points >= self._settings.most_points - 1:
            # the last point of a run is what its files describe: the middle, not an end of the dimer
            self._last = True
            self._search.close()
        return what

    def _end(self, largest: float) -> str:
        shape = "not known yet" if self.curvature is None else f"{self.curvature:.3f} eV/Å²"
        words = f"largest force {largest:.2e} eV/Å, curvature {shape}"
        self.finished = self.finished or self._arrived
        return f"{'' if self._arrived else 'not '}at a saddle point after {counted(self.points, 'point')}: {words}"

    def state(self) -> dict[str, Any]:
        return {
            "energies": np.array([energy for energy, _ in self._answers]),
            "forces": np.array([force_av for _, force_av in self._answers]),
            "direction": self.direction_av, "status": self.status, "finished": self.finished, "ended": self._ended,
        }  # fmt: skip

    def restore(self, state: Mapping[str, Any]) -> None:
        """The search is led through its points once more: it decides by nothing else."""
        for energy, force_av in zip(np.array(state["energies"]), np.array(state["forces"]), strict=True):
            if self.ask() is None:
                raise ValueError("more points than the search asks for")
            self._take(float(energy), np.array(force_av))
        self.status, self.finished, self._ended = str(state["status"]), bool(state["finished"]), bool(state["ended"])
