"""What a calculation from Python returns: arrays and numbers with their units in their names."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from eigenwerk.dft.after.band_gap import BandGap
from eigenwerk.dft.runs.api.as_ase import atoms_of
from eigenwerk.dft.runs.api.grid_fields import DensityOnGrid, PotentialOnGrid, density_of, potential_of
from eigenwerk.dft.runs.api.reading import read_run
from eigenwerk.dft.runs.api.spectra import BandCurves, Dos
from eigenwerk.dft.runs.quantities.report import RunResult
from eigenwerk.dft.runs.run_report import partly_words
from eigenwerk.dft.scf.state import State
from eigenwerk.errors import InputError
from eigenwerk.io.quantity import Inside
from eigenwerk.shown import for_page

if TYPE_CHECKING:
    from ase import Atoms


@dataclass(frozen=True, eq=False)
class Result:
    """A ground state, converged or not (`converged`, `status`).

    Axes of arrays: atoms, then x y z; spins, k-points, bands.  `run` is the same as `eigenwerk run --json` shows it,
    with the steps and where the time went; remarks: notes about the input.  A result is a start for another
    calculation of the same atoms: dft.run(..., start=result).
    """

    run: RunResult = field(repr=False)
    remarks: tuple[str, ...] = field(default=(), repr=False)

    converged = Inside[bool]("run.converged")
    """Whether self-consistency was reached; without it no number here means much."""
    status = Inside[str]("run.status")
    """How it ended, one sentence."""
    symbols = Inside[tuple[str, ...]]("run.symbols")
    """Elements of the atoms, in the order given."""

    @property
    def formula(self) -> str:
        """Mg2O for Mg Mg O."""
        return self.run.formula

    @staticmethod
    def read(folder: str | Path) -> "Result":
        """Of a run that is over, from its folder: of `eigenwerk run`, of dft.run(..., folder=...), or of VASP.

        Numbers are those of vasprun.xml, with all their digits where eigenwerk.h5 is of the same run; orbitals, weights
        of single orbitals and levels in a vacuum are not read.  Raises InputError for a folder without a whole run.
        """
        return Result(read_run(folder))

    @property
    def atoms(self) -> "Atoms":
        """ASE's atoms where the run has left them (relaxed, if it relaxed them), with a calculator that holds energy,
        forces, stress, moments and levels if the electrons converged.  Needs the package ase, as the next."""
        return atoms_of(self.run.record, self.run.record.at_rest)

    @property
    def trajectory(self) -> list["Atoms"]:
        """The same of every ionic step."""
        return [atoms_of(self.run.record, step) for step in self.run.record.ionic_steps]

    free_energy_eV = Inside[float]("run.free_energy")
    """Free energy, of which the forces are derivatives; relative to the reference atoms of the data sets."""
    energy_eV = Inside[float]("run.energy_zero")
    """Energy extrapolated to zero smearing (VASP's energy(sigma->0), ASE's energy)."""
    energy_without_entropy_eV = Inside[float]("run.energy_without_entropy")
    """Energy without -TS."""
    absolute_energy_eV = Inside[float]("run.absolute_energy")
    """Free energy of all electrons, frozen cores included."""
    dispersion_eV = Inside[float | None]("run.dispersion")
    """What the dispersion correction (ivdw) gives to all of these; None without."""
    non_local_correlation_eV = Inside[float | None]("run.non_local")
    """Non-local correlation (luse_vdw) of the smooth density, that of the atoms not taken off; None without."""
    fermi_level_eV = Inside[float]("run.fermi_level")
    """Between filled and empty states of both spins; where nupdown leaves no such level, that of the higher one."""
    fermi_levels_of_spins_eV = Inside[tuple[float, ...]]("run.separate_levels")
    """Fermi levels of both spins where nupdown leaves none that separates both; else empty."""
    gap = Inside[BandGap]("run.gap")
    """Band edges in eV, with their places; `gap.metal` says that there is no gap."""
    gap_eV = Inside[float | None]("run.gap.gap")
    """Smallest gap among the k-points of the calculation, 0 in a metal; None without empty bands."""
    forces_eV_per_A = Inside[np.ndarray | None]("run.forces_av")
    """(atoms, 3); None after an interruption."""
    force_error_eV_per_A = Inside[float | None]("run.force_error")
    """Estimate of the largest error of forces from a density that is not quite self-consistent."""
    stress_GPa = Inside[np.ndarray | None]("run.stress_vv")
    """(3, 3), positive where the cell wants to shrink, as in ASE; None with isif=0."""
    pressure_GPa = Inside[float | None]("run.pressure")
    """Of the cell on what surrounds it."""
    moment_muB = Inside[float | None]("run.moment")
    """Total magnetic moment; None without spin."""
    moments_muB = Inside[np.ndarray | None]("run.moment_a")
    """(atoms,), inside the augmentation spheres; None without spin."""
    eigenvalues_eV = Inside[np.ndarray]("run.eig_skn")
    """(spins, k-points, bands)."""
    occupations = Inside[np.ndarray]("run.occ_skn")
    """(spins, k-points, bands), 0 to 1."""
    kpoints = Inside[np.ndarray]("run.kpoint_kc")
    """(k-points, 3) in reciprocal lattice vectors."""
    weights = Inside[np.ndarray]("run.weight_k")
    """(k-points,) with sum one."""
    @property
    def bands(self) -> BandCurves | None:
        """Bands along the path that `bands` asked for, else None."""
        found = self.run.bands
        return None if found is None else BandCurves(found, self.run.record.last.lattice_cv, self.formula)

    @property
    def dos(self) -> Dos:
        """Density of states, of atoms and orbitals too with lorbit=11; more points with nedos."""
        zero, words = self.gap.zero(self.fermi_level_eV)
        two = self.fermi_levels_of_spins_eV and zero == self.fermi_level_eV
        return Dos(self.run.record, zero, "higher of two Fermi levels" if two else words, self.formula)

    @property
    def density(self) -> DensityOnGrid:
        """Density of electrons and magnetisation; of a result that was read from its CHGCAR."""
        return density_of(self.state, self.files, self.run.record.last.lattice_cv)

    @property
    def potential(self) -> PotentialOnGrid:
        """Electrostatic potential; of a result that was read from its LOCPOT with lvhar."""
        if self.state is None and self.run.record.parameters.get("LVHAR") is not True:
            raise InputError("this result was read, and its run had no LVHAR: its LOCPOT is another potential, if any.")
        return potential_of(self.state, self.files, self.run.record.last.lattice_cv)

    warnings = Inside[tuple[str, ...]]("run.warnings")
    """What is doubtful about input or result."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What is worth knowing and no doubt: about the input, and where the run began."""
        return (*self.remarks, *self.run.notes)

    advice = Inside[tuple[str, ...]]("run.advice")
    """What to try next if not converged."""
    seconds = Inside[float]("run.seconds")
    """Wall time."""

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
        rows += [] if self.dispersion_eV is None else [("of it dispersion correction", f"{self.dispersion_eV:.6f} eV")]
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
