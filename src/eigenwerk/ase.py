"""`Eigenwerk`, a calculator of ASE that goes on from structure to structure.

    from ase.build import molecule
    from ase.optimize import BFGS
    from eigenwerk.ase import Eigenwerk

    water = molecule("H2O", vacuum=4)
    water.calc = Eigenwerk(encut=500, ediff=1e-6)
    BFGS(water).run(fmax=0.02)

Nothing is written.  Needs the package ase.
"""

import warnings
from pathlib import Path
from typing import Any, Unpack

from eigenwerk.dft.runs.api.as_ase import bands_in_ase, found_in_ase, levels_in_ase
from eigenwerk.dft.runs.api.keywords import Settings
from eigenwerk.dft.runs.api.result import Result
from eigenwerk.dft.runs.api.run import InputWarning, solve
from eigenwerk.dft.runs.motion.surface import Continuation
from eigenwerk.errors import InputError

try:
    from ase import Atoms
    from ase.calculators.abc import GetOutputsMixin
    from ase.calculators.calculator import Calculator, PropertyNotImplementedError, SCFError, all_changes
except ModuleNotFoundError as error:
    if error.name != "ase":
        raise
    raise ModuleNotFoundError(
        "The Python package ase is not installed, and eigenwerk.ase does not work without. "
        "Install by:  pip install 'eigenwerk[ase]'",
        name="ase",
    ) from error

OTHER_DATA = {"setups", "gga", "libxc1", "libxc2"}
"""Settings that may bring other PAW data sets, to which an earlier state says nothing."""


MESH_CHANGES = "the mesh changes"
"""What a calculator says once, whatever the meshes are."""


class Eigenwerk(GetOutputsMixin, Calculator):
    """Energy, forces, stress, moments and levels of ASE's Atoms, by the settings of `dft.run`.

    Densities and orbitals of the structures before predict where the next one of the same atoms begins; keep=False
    begins each from atoms.  fixed_basis: plane waves, grids and k-points of the first structure serve all others of the
    same atoms, whatever their cells, until settings change: then the stress is the derivative of the energy from cell
    to cell, which line searches need; else each cell has its own to the cutoff.

    kpts, gamma, bands, device, threads, folder: as of `dft.run`.  `result` is the last `Result`: gap, density of states
    and all that ASE has no word for.  Moments are there where there is spin.

    Constraints of the atoms are ASE's to keep; with a folder they stand in its POSCAR as far as that can say them.
    What is doubtful about a structure is a warning, once for each calculator.

    energy is extrapolated to zero smearing, free_energy is what forces and stress are derivatives of.  Raises SCFError,
    and has no results, where self-consistency is not reached: an optimiser must not walk by such forces.  Raises
    `eigenwerk.errors.InputError` for bad input.
    """

    name = "eigenwerk"
    implemented_properties = "energy free_energy forces stress magmom magmoms".split()

    def __init__(
        self,
        *,
        kpts: Any = None,
        gamma: bool = True,
        bands: str | None = None,
        device: str = "auto",
        threads: int | None = None,
        folder: str | Path | None = None,
        keep: bool = True,
        fixed_basis: bool = False,
        atoms: Atoms | None = None,
        **settings: Unpack[Settings],
    ):
        self.result: Result | None = None
        self.where: dict[str, Any] = {"bands": bands, "device": device, "threads": threads, "folder": folder}
        self.keep, self.fixed_basis = keep, fixed_basis
        self._continuation: Continuation | None = None
        self._said: set[str] = set()
        self._mesh: tuple[tuple[str, ...], tuple[int, ...]] | None = None
        super().__init__(atoms=atoms, kpts=kpts, gamma=gamma, **settings)

    def set(self, **settings: Any) -> dict[str, Any]:
        """Change settings; the changed ones.  What has been computed counts no more, but is a start."""
        changed: dict[str, Any] = super().set(**settings)
        if changed:
            self.reset()
            self._mesh = None
        if OTHER_DATA & changed.keys() or (changed and self.fixed_basis):
            self._continuation = None
        return changed

    def calculate(
        self, atoms: Atoms | None = None, properties: Any = ("energy",), system_changes: Any = tuple(all_changes)
    ) -> None:
        """All properties at once."""
        super().calculate(atoms, properties, system_changes)
        self.results, self.result = {}, None
        assert self.atoms is not None
        symbols = tuple(self.atoms.get_chemical_symbols())
        continuation, self._continuation = self._start(symbols, system_changes), None
        settings = dict(self.parameters)
        _require_still(settings)
        mesh = {name: settings.pop(name) for name in ("kpts", "gamma")}
        result = solve(self.atoms, settings, **mesh, start=continuation, **self.where)
        for text in (*result.warnings, *self._mesh_words(symbols, result)):
            kind = "".join(letter for letter in text if not letter.isdigit())  # the same with other numbers is no news
            if kind not in self._said:
                self._said.add(kind)
                warnings.warn(text, InputWarning, stacklevel=2)
        if not result.converged:
            raise SCFError("; ".join([result.status, *result.advice]))
        self.result = result
        if self.keep and result.state is not None:
            continuation.add(result.state)
            self._continuation = continuation
        record = result.run.record
        self.results = {"magmom": 0.0} | found_in_ase(record.last) | levels_in_ase(record)

    def get_property(self, name: str, atoms: Atoms | None = None, allow_calculation: bool = True) -> Any:
        """As ASE has it; what this structure does not have by these settings is not computed once more to find that."""
        here = self.atoms if atoms is None else atoms
        known = self.results and name not in self.results and not self.check_state(here)
        if known and allow_calculation:
            raise PropertyNotImplementedError(
                f"{name}: not with these settings (moments need ispin=2 or magmom, stress isif=2)"
            )
        return None if known else super().get_property(name, atoms, allow_calculation)

    def _outputmixin_get_results(self) -> dict[str, Any]:
        return self.results

    def band_structure(self) -> Any:
        """ASE's bands: along the path that `bands` asked for, else of the k-points of the calculation."""
        if self.result is None or self.result.run.bands is None:
            return super().band_structure()
        return bands_in_ase(self.result.run.bands, self.result.run.record.last.lattice_cv)

    def _mesh_words(self, symbols: tuple[str, ...], result: Result) -> list[str]:
        """Once a warning where the mesh of a spacing is another than that of the structure before."""
        before, self._mesh = self._mesh, None
        mesh = None if result.state is None else result.state.system.basis.kpoints.mesh
        if mesh is None:
            return []
        self._mesh = symbols, mesh
        if before is None or before[0] != symbols or before[1] == mesh or MESH_CHANGES in self._said:
            return []
        self._said.add(MESH_CHANGES)
        old, new = (" x ".join(map(str, one)) for one in (before[1], mesh))
        finer = tuple(map(max, zip(before[1], mesh, strict=True)))
        return [
            f"the k-mesh has changed with the cell from {old} to {new}, and energies with it by what these meshes "
            f"differ: curves of energy by volume get steps. Give kpts={finer} in place of a spacing, or "
            "fixed_basis=True, which keeps the mesh of the first structure."
        ]

    def _start(self, symbols: tuple[str, ...], system_changes: Any) -> Continuation:
        """The states of structures before, if this one has the same atoms and asks for no other moments."""
        continuation = self._continuation
        latest = None if continuation is None else continuation.latest
        if continuation is None or latest is None or "initial_magmoms" in system_changes:
            return Continuation(self.fixed_basis)
        return continuation if latest.structure.symbols == symbols else Continuation(self.fixed_basis)


def _require_still(settings: dict[str, Any]) -> None:
    """InputError for settings by which a run moves atoms: what it finds would belong to other places than ASE's."""
    given = {name.lower(): value for name, value in settings.items()}
    steps, ibrion = given.get("nsw") or 0, given.get("ibrion")
    if steps and ibrion != -1 and str(steps).strip() != "0":
        raise InputError(
            f"nsw = {steps}: this moves the atoms within the calculator, and ASE would take the results for those of "
            "the places that it knows. Move them by ASE (BFGS, FrechetCellFilter, VelocityVerlet, Vibrations), or call "
            "dft.run(atoms, nsw=...), whose result has the way of the atoms."
        )
