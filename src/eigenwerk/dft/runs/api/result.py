"""What a calculation from Python returns: arrays and numbers with their units in their names."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from eigenwerk.dft.after.band_gap import BandGap
from eigenwerk.dft.runs.quantities.report import RunResult
from eigenwerk.dft.runs.run_report import partly_words
from eigenwerk.dft.scf.state import State
from eigenwerk.shown import for_page


@dataclass(frozen=True, eq=False)
class Result:
    """A ground state, converged or not (`converged`, `status`).

    Axes of arrays: atoms, then x y z; spins, k-points, bands.  `run` is the same as `eigenwerk run --json` shows it,
    with the steps and where the time went; remarks: notes about the input.  A result is a start for another
    calculation of the same atoms: dft.run(..., start=result).
    """

    run: RunResult = field(repr=False)
    remarks: tuple[str, ...] = field(default=(), repr=False)

    @property
    def converged(self) -> bool:
        """Whether self-consistency was reached; without it no number here means much."""
        return self.run.converged

    @property
    def status(self) -> str:
        """How it ended, one sentence."""
        return self.run.status

    @property
    def symbols(self) -> tuple[str, ...]:
        """Elements of the atoms, in the order given."""
        return self.run.symbols

    @property
    def formula(self) -> str:
        """Mg2O for Mg Mg O."""
        return "".join(f"{symbol}{count if count > 1 else ''}" for symbol, count in Counter(self.symbols).items())

    @property
    def free_energy_eV(self) -> float:
        """Free energy, of which the forces are derivatives; relative to the reference atoms of the data sets."""
        return self.run.free_energy

    @property
    def energy_eV(self) -> float:
        """Energy extrapolated to zero smearing (VASP's energy(sigma->0), ASE's energy)."""
        return self.run.energy_zero

    @property
    def energy_without_entropy_eV(self) -> float:
        """Energy without -TS."""
        return self.run.energy_without_entropy

    @property
    def absolute_energy_eV(self) -> float:
        """Free energy of all electrons, frozen cores included."""
        return self.run.absolute_energy

    @property
    def fermi_level_eV(self) -> float:
        """Between filled and empty states of both spins; where nupdown leaves no such level, that of the higher one."""
        return self.run.fermi_level

    @property
    def fermi_levels_of_spins_eV(self) -> tuple[float, ...]:
        """Fermi levels of both spins where nupdown leaves none that separates both; else empty."""
        return self.run.separate_levels

    @property
    def gap(self) -> BandGap:
        """Band edges in eV, with their places; `gap.metal` says that there is no gap."""
        return self.run.gap

    @property
    def gap_eV(self) -> float | None:
        """Smallest gap among the k-points of the calculation, 0 in a metal; None without empty bands."""
        return self.run.gap.gap

    @property
    def forces_eV_per_A(self) -> np.ndarray | None:
        """(atoms, 3); None after an interruption."""
        return self.run.forces_av

    @property
    def force_error_eV_per_A(self) -> float | None:
        """Estimate of the largest error of forces from a density that is not quite self-consistent."""
        return self.run.force_error

    @property
    def stress_GPa(self) -> np.ndarray | None:
        """(3, 3), positive where the cell wants to shrink, as in ASE; None with isif=0."""
        return self.run.stress_vv

    @property
    def pressure_GPa(self) -> float | None:
        """Of the cell on what surrounds it."""
        return self.run.pressure

    @property
    def moment_muB(self) -> float | None:
        """Total magnetic moment; None without spin."""
        return self.run.moment

    @property
    def moments_muB(self) -> np.ndarray | None:
        """(atoms,), inside the augmentation spheres; None without spin."""
        return self.run.moment_a

    @property
    def eigenvalues_eV(self) -> np.ndarray:
        """(spins, k-points, bands)."""
        return self.run.eig_skn

    @property
    def occupations(self) -> np.ndarray:
        """(spins, k-points, bands), 0 to 1."""
        return self.run.occ_skn

    @property
    def kpoints(self) -> np.ndarray:
        """(k-points, 3) in reciprocal lattice vectors."""
        return self.run.kpoint_kc

    @property
    def weights(self) -> np.ndarray:
        """(k-points,) with sum one."""
        return self.run.weight_k

    @property
    def bands(self) -> Any:
        """Bands along the path that `bands` asked for, else None."""
        return self.run.bands

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is doubtful about input or result."""
        return self.run.warnings

    @property
    def notes(self) -> tuple[str, ...]:
        """What is worth knowing and no doubt: about the input, and where the run began."""
        return (*self.remarks, *self.run.notes)

    @property
    def advice(self) -> tuple[str, ...]:
        """What to try next if not converged."""
        return self.run.advice

    @property
    def seconds(self) -> float:
        """Wall time."""
        return self.run.seconds

    @property
    def files(self) -> dict[str, Path]:
        """What was written, by name; nothing without a folder."""
        return dict(self.run.files)

    @property
    def state(self) -> State | None:
        """The engine's own state in hartree and bohr; None after an interruption."""
        return None if self.run.ground_state is None else self.run.ground_state.state

    def _gap_words(self) -> str:
        if self.gap.metal:
            return f"metal{partly_words(self.gap)}"
        return "unknown" if self.gap_eV is None else f"{self.gap_eV:.4f} eV"

    def _rows(self) -> list[tuple[str, str]]:
        forces = self.run.largest_force
        rows = [
            ("status", self.status),
            ("free energy", f"{self.free_energy_eV:.6f} eV"),
            ("energy at zero smearing", f"{self.energy_eV:.6f} eV"),
            ("Fermi level", f"{self.fermi_level_eV:.4f} eV"),
            ("band gap", self._gap_words()),
        ]
        rows += [] if forces is None else [("largest force", f"{forces:.4f} eV/Å")]
        rows += [] if self.pressure_GPa is None else [("pressure", f"{self.pressure_GPa:.3f} GPa")]
        rows += [] if self.moment_muB is None else [("magnetic moment", f"{self.moment_muB:.4f} μB")]
        rows += [("steps", f"{len(self.run.steps)} in {self.seconds:.1f} s")]
        return rows + [("warning", text) for text in self.warnings]

    def __repr__(self) -> str:
        rows = "; ".join(f"{name} {text}" for name, text in self._rows() if name not in ("status", "warning", "steps"))
        return f"<{self.formula}: {self.status}; {rows}>"

    def _repr_html_(self) -> str:
        """A table, for Jupyter; red where it is not converged."""
        colour = "" if self.converged else " style='color:#b00000'"
        rows = "".join(
            f"<tr{colour if name == 'status' else ''}><th style='text-align:left'>{for_page(name)}</th>"
            f"<td style='text-align:left'>{for_page(text)}</td></tr>"
            for name, text in self._rows()
        )
        return f"<table><caption>{for_page(self.formula)}</caption>{rows}</table>"
