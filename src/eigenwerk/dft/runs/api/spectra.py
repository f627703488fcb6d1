"""Bands along a path and densities of states for Python: arrays with units in their names, and pictures."""

from dataclasses import dataclass, field
from pkgutil import resolve_name
from typing import Any

import numpy as np

from eigenwerk.dft.after.band_gap import BandGap
from eigenwerk.dft.after.band_structure import BandStructure
from eigenwerk.dft.after.effective_mass import EffectiveMass
from eigenwerk.dft.runs.api.as_ase import bands_in_ase
from eigenwerk.io.quantity import Inside
from eigenwerk.io.vasp.output.record import RunRecord

BANDS_PLOT, DOS_PLOT = "eigenwerk.view.bands_plot", "eigenwerk.view.dos_plot"
"""Pictures are above results, and called by their names."""

Window = tuple[float, float] | None


def axes_to_draw_in(axes: Any) -> Any:
    """Those given, or new ones that notebooks show.  Raises ModuleNotFoundError without matplotlib."""
    if axes is None:
        from matplotlib import pyplot

        axes = pyplot.subplots(layout="constrained")[1]
    return axes


@dataclass(frozen=True, eq=False, repr=False)
class BandCurves:
    """Bands of a list of k-points in the potential of a run.

    Axes of arrays: spins, k-points, bands; reduced coordinates.
    """

    found: BandStructure
    lattice_A: np.ndarray
    """(3, 3), rows are the lattice vectors."""
    formula: str

    energies_eV = Inside[np.ndarray]("found.eig_skn")
    """(spins, k-points, bands)."""
    occupations = Inside[np.ndarray]("found.occ_skn")
    """The same, 0 to 1."""
    kpoints = Inside[np.ndarray]("found.point_kc")
    """(k-points, 3) in reciprocal lattice vectors."""
    distances_per_A = Inside[np.ndarray]("found.distance_k")
    """(k-points,), the way along the path."""
    labels = Inside[tuple[str, ...]]("found.label_k")
    """Names of the points, empty where they have none."""
    zero_eV = Inside[float]("found.zero")
    """What pictures count from: the valence band top, or the Fermi level of a metal."""
    fermi_level_eV = Inside[float]("found.fermi_level")
    """Of the run with the mesh."""
    gap = Inside[BandGap]("found.gap")
    """On these points, with the places of its edges."""
    gap_eV = Inside[float | None]("found.gap.gap")
    """0 in a metal, None without empty bands."""
    effective_masses = Inside[tuple[EffectiveMass, ...]]("found.masses")
    """At the edges, along the path, of the electron's mass."""
    converged = Inside[bool]("found.converged")
    """Whether all bands are."""

    def plot(self, axes: Any = None, window_eV: Window = None, title: str | None = None) -> Any:
        """Draw them as `eigenwerk plot` does into matplotlib's axes (new ones without); the axes.

        window_eV: energies that are shown, from the zero.
        """
        axes = axes_to_draw_in(axes)
        resolve_name(BANDS_PLOT).plot_bands(axes, self.found.as_dict(), title or self.formula, window_eV)
        return axes

    def to_ase(self) -> Any:
        """ASE's `BandStructure`."""
        return bands_in_ase(self.found, self.lattice_A)

    def __repr__(self) -> str:
        spins, points, bands = self.energies_eV.shape
        gap = "metal" if self.gap.metal else "gap unknown" if self.gap_eV is None else f"gap {self.gap_eV:.4f} eV"
        walk = "-".join(dict.fromkeys(filter(None, self.labels)))
        channels = "" if spins == 1 else ", 2 spins"
        return f"<bands of {self.formula}: {bands} at {points} k-points{walk and f' {walk}'}{channels}, {gap}>"


@dataclass(frozen=True, eq=False, repr=False)
class Dos:
    """Density of states of a run, total and, with lorbit, of atoms and orbitals."""

    record: RunRecord = field(repr=False)
    zero_eV: float
    """What pictures count from: the valence band top, or the Fermi level of a metal."""
    zero_words: str
    formula: str

    energies_eV = Inside[np.ndarray]("record.final.dos.energy_x")
    """(energies,); each value is the mean over the interval that ends here."""
    total_per_eV = Inside[np.ndarray]("record.final.dos.total_sx")
    """(spins, energies), states per eV and cell, of both spins in one row without spin."""
    integrated = Inside[np.ndarray]("record.final.dos.integrated_sx")
    """(spins, energies), states per cell below."""
    fermi_level_eV = Inside[float]("record.final.fermi_level")

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the orbitals that `partial_per_eV` has; empty without lorbit."""
        return self.record.final.dos.columns

    @property
    def partial_per_eV(self) -> np.ndarray | None:
        """(spins, energies, atoms, orbitals), states per eV; None without lorbit."""
        return self.record.final.dos.partial_sxaL

    def of(self, element: str | None = None, orbital: str = "") -> np.ndarray:
        """The part of an element's atoms (None: of all), of one orbital (s, p, px, d ...; empty: of all), (spins,
        energies).  Raises ValueError without lorbit, or where there is none such."""
        partial_sxaL = self.partial_per_eV
        if partial_sxaL is None:
            raise ValueError("no parts of atoms: compute with lorbit=11")
        atom_a = [a for a, symbol in enumerate(self.record.symbols) if element in (None, symbol)]
        column_L = [place for place, name in enumerate(self.columns) if _matches(name, orbital)]
        if not atom_a or not column_L:
            elements = ", ".join(dict.fromkeys(self.record.symbols))
            raise ValueError(f"{element}, {orbital}: there are {elements}, and {', '.join(self.columns)}")
        found: np.ndarray = partial_sxaL[:, :, atom_a][..., column_L].sum(axis=(2, 3))
        return found

    def plot(self, axes: Any = None, window_eV: Window = None, title: str | None = None, parts: str = "l") -> Any:
        """Draw it as `eigenwerk plot` does into matplotlib's axes (new ones without); the axes.

        window_eV: energies that are shown, from the zero; parts: none, element, l, atom or lm.
        """
        axes, view, record = axes_to_draw_in(axes), resolve_name(DOS_PLOT), self.record
        curves = view.dos_curves(record.final.dos, record.symbols, parts, moment_a=record.last.moment_a)
        curves = view.broadened(curves, view.own_broadening(record.parameters))
        view.plot_dos(axes, curves, self.zero_eV, self.zero_words, title or self.formula, window_eV)
        return axes

    def __repr__(self) -> str:
        energy_x, spins = self.energies_eV, len(self.total_per_eV)
        parts = f", parts of {len(self.record.symbols)} atoms" if self.partial_per_eV is not None else ""
        return (
            f"<density of states of {self.formula}: {len(energy_x)} energies from {energy_x[0]:.2f} to "
            f"{energy_x[-1]:.2f} eV{'' if spins == 1 else ', 2 spins'}{parts}>"
        )


def _matches(column: str, orbital: str) -> bool:
    """p means px, py, pz, and d also x2-y2."""
    kind = "d" if column.startswith("x2") else column[0]
    return orbital in ("", column, kind)
