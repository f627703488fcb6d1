"""Differences between two results in the units of the requirement: meV, meV per angstrom, Bohr magneton."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

LIMITS = {"energy": 1.0, "series": 0.2, "bands": 3.0, "forces": 3.0, "moment": 0.01}
"""meV per atom, meV per atom, meV, meV per angstrom, Bohr magneton."""

WINDOW_EV = 15.0
"""Bands are compared up to this above the Fermi level or valence top; empty bands above it are hardly used."""

PARTIAL = 0.02
"""A state with an occupation between this and one minus this makes a metal."""


@dataclass(frozen=True)
class Differences:
    """Ours minus theirs; None where it does not apply.

    energy: extrapolated energy, free: free energy (meV per atom); series: change of `energy` from the base run;
    bands: largest over the converged bands up to WINDOW_EV at equivalent k-points, from the Fermi level of a metal or
    the valence top (meV); high: the same over all bands that the reference converged; occupied: over occupied states;
    fermi: Fermi level, not aligned (meV; metals); forces: largest component (meV/A); entropy: -TS (meV per atom);
    moment: of the cell (Bohr magneton).
    """

    energy: float
    free: float
    bands: float
    high: float
    occupied: float
    forces: float
    entropy: float
    fermi: float | None = None
    moment: float | None = None
    series: float | None = None

    def failed(self) -> list[str]:
        """Names of the requirements that are not met."""
        return [name for name, limit in LIMITS.items() if abs(getattr(self, name) or 0.0) > limit]

    def as_dict(self) -> dict[str, float | None]:
        """Plain numbers for JSON."""
        return asdict(self)


def differences(ours: dict[str, Any], theirs: dict[str, Any], atoms: int) -> Differences:
    """Compare the results of one calculation."""
    bands, high, occupied = band_differences(ours, theirs)
    entropy = theirs["energy_components_eV"].get("entropy", np.nan)
    moment = None
    if ours["moment_muB"] is not None and "moment_muB" in theirs:
        moment = ours["moment_muB"] - theirs["moment_muB"]
    fermi = 1e3 * (ours["fermi_level_eV"] - theirs["fermi_level_eV"]) if is_metal(theirs) else None
    force_av = np.array(ours["forces_eV_per_A"]) - np.array(theirs["forces_eV_per_A"])
    return Differences(
        energy=1e3 * (ours["energy_extrapolated_eV"] - theirs["energy_extrapolated_eV"]) / atoms,
        free=1e3 * (ours["free_energy_eV"] - theirs["free_energy_eV"]) / atoms,
        bands=bands, high=high, occupied=occupied, forces=float(1e3 * np.abs(force_av).max()),
        entropy=1e3 * (ours["entropy_eV"] - entropy) / atoms, fermi=fermi, moment=moment,
    )  # fmt: skip


def is_metal(results: dict[str, Any]) -> bool:
    """Whether states are partly occupied."""
    occ_skn = np.array(results["occupations"])
    return bool(((occ_skn > PARTIAL) & (occ_skn < 1 - PARTIAL)).any())


def band_differences(ours: dict[str, Any], theirs: dict[str, Any]) -> tuple[float, float, float]:
    """Largest difference up to the window, over all converged bands, over occupied ones; each from its zero; meV."""
    count = theirs["nbands_converged"] or np.array(theirs["eigenvalues_eV"]).shape[2]
    eig_skn = np.array(theirs["eigenvalues_eV"])[:, :, :count]
    own_skn = at_points(ours, np.array(theirs["ibz_kpoints"]))[:, :, :count]
    occ_skn = np.array(theirs["occupations"])[:, :, :count]
    if is_metal(theirs):
        zero, own_zero = theirs["fermi_level_eV"], ours["fermi_level_eV"]
    else:
        zero, own_zero = eig_skn[occ_skn > 0.5].max(), own_skn[occ_skn > 0.5].max()
    difference_skn = 1e3 * np.abs((own_skn - own_zero) - (eig_skn - zero))
    near = eig_skn - zero < WINDOW_EV
    return float(difference_skn[near].max()), float(difference_skn.max()), float(difference_skn[occ_skn > 0.5].max())


def at_points(ours: dict[str, Any], point_kc: np.ndarray) -> np.ndarray:
    """Our eigenvalues (s, k, n) at any points of the mesh, from the irreducible ones; the spins follow the symmetry."""
    full = ours["full"]
    index_of = {key(point_c): x for x, point_c in enumerate(full["points"])}
    place_k = [index_of[key(point_c)] for point_c in point_kc]
    eig_skn = np.array(ours["eigenvalues_eV"])
    rows = [eig_skn[:, full["irreducible"][x]][:: -1 if full["flips"][x] else 1] for x in place_k]
    return np.stack(rows, axis=1)


def key(point_c: Any) -> tuple[int, int, int]:
    """A point modulo reciprocal lattice vectors, as integers."""
    x, y, z = (np.round(np.asarray(point_c) * 10080).astype(int) % 10080).tolist()
    return x, y, z
