"""Bands along a path, the gap on it and where its edges lie (no torch here).  Energies in eV, lengths in 1/angstrom."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from eigenwerk.dft.after.band_gap import METAL, BandEdge, BandGap, band_gap
from eigenwerk.dft.after.effective_mass import EffectiveMass, masses_at
from eigenwerk.dft.crystal.kpoints import KPoints

SAME_POINT = 1e-6
"""Largest difference of fractional coordinates of one and the same point."""


@dataclass(frozen=True, eq=False, repr=False)
class BandStructure:
    """Bands of a list of k-points in a fixed potential.

    point_kc: (k, 3) fractional; distance_k: way along the path, where it jumps no way at all; label_k: names of points,
    '' without; line_k: straight line of each point, None if the list is no path; eig_skn, residual: eV; occ_skn: 0 to
    1; fermi_level: of the self-consistent run; gap: on these points; masses: at its edges, along the path.
    """

    source: str
    point_kc: np.ndarray
    distance_k: np.ndarray
    label_k: tuple[str, ...]
    line_k: np.ndarray | None
    eig_skn: np.ndarray
    occ_skn: np.ndarray
    residual: float
    converged: bool
    fermi_level: float
    gap: BandGap
    masses: tuple[EffectiveMass, ...] = ()

    def __repr__(self) -> str:
        return f"<{self.eig_skn.shape[2]} bands of {self.source}: {len(self.point_kc)} k-points>"

    @property
    def zero(self) -> float:
        """The energy that pictures count from: the valence band top, or the Fermi level; eV."""
        return self.gap.zero(self.fermi_level)[0]

    def place(self, edge: BandEdge) -> str:
        """Where an edge lies, in words: "X", "0.85 of the way from G to X", or its coordinates."""
        k = edge.kpoint - 1
        point = " ".join(f"{x + 0.0:.4g}" for x in edge.point_c)
        name = self._name(k)
        return f"{name} ({point})" if name else f"({point})"

    def _name(self, k: int) -> str:
        if self.label_k and self.label_k[k]:
            return self.label_k[k]
        if self.line_k is None:
            return ""
        on_line = np.flatnonzero(self.line_k == self.line_k[k])
        first, last = int(on_line[0]), int(on_line[-1])
        if not (self.label_k[first] and self.label_k[last]):
            return ""
        share = (self.distance_k[k] - self.distance_k[first]) / (self.distance_k[last] - self.distance_k[first])
        return f"{share:.2f} of the way from {self.label_k[first]} to {self.label_k[last]}"

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "source": self.source, "converged": self.converged, "residual_eV": self.residual,
            "fermi_level_eV": self.fermi_level, "zero_eV": self.zero,
            "gap_eV": asdict(self.gap) | {"direct": self.gap.is_direct, "kind": self.gap.kind},
            "effective_masses_me": [asdict(mass) for mass in self.masses],
            "kpoints": self.point_kc.tolist(), "distance_per_A": self.distance_k.tolist(), "labels": list(self.label_k),
            "lines": None if self.line_k is None else self.line_k.tolist(),
            "eigenvalues_eV": self.eig_skn.tolist(), "occupations": self.occ_skn.tolist(),
        }  # fmt: skip

    @staticmethod
    def of_dict(found: Mapping[str, Any]) -> "BandStructure":
        """Inverse of `as_dict`; raises LookupError, TypeError or ValueError for what is none."""
        gap, lines = found["gap_eV"], found["lines"]
        edges = {name: None if gap[name] is None else _edge(gap[name]) for name in ("top", "bottom", "direct_at")}
        return BandStructure(
            found["source"], np.array(found["kpoints"], dtype=float), np.array(found["distance_per_A"], dtype=float),
            tuple(found["labels"]), None if lines is None else np.array(lines), np.array(found["eigenvalues_eV"]),
            np.array(found["occupations"]), found["residual_eV"], found["converged"], found["fermi_level_eV"],
            BandGap(gap["metal"], gap["gap"], gap["direct_gap"], **edges, partly_filled=gap.get("partly_filled", 0)),
            tuple(EffectiveMass(**mass) for mass in found["effective_masses_me"]),
        )  # fmt: skip


def _edge(found: Mapping[str, Any]) -> BandEdge:
    return BandEdge(**{**found, "point_c": tuple(found["point_c"])})


def band_structure(
    kpoints: KPoints, reciprocal_cv: np.ndarray, eig_skn: np.ndarray, occ_skn: np.ndarray, fermi_level: float,
    filled_s: Sequence[int] | None, residual: float, converged: bool,
) -> BandStructure:  # fmt: skip
    """What the bands of a list of points say.

    reciprocal_cv: 1/angstrom with the factor 2 pi; fermi_level: of the self-consistent run, eV; filled_s: bands that
    are full at every k-point of that run, None in a metal.
    """
    position_kv = kpoints.point_kc @ reciprocal_cv
    step_k = np.linalg.norm(np.diff(position_kv, axis=0), axis=1)
    if kpoints.line_k is not None:
        step_k = step_k * (np.diff(kpoints.line_k) == 0)
    distance_k = np.concatenate([[0.0], np.cumsum(step_k)])
    gap = _gap(eig_skn, kpoints.point_kc, filled_s)
    masses = _masses(kpoints, distance_k, eig_skn, gap, filled_s) if kpoints.line_k is not None and filled_s else ()
    return BandStructure(
        source=kpoints.source, point_kc=kpoints.point_kc, distance_k=distance_k, label_k=kpoints.label_k,
        line_k=kpoints.line_k, eig_skn=eig_skn, occ_skn=occ_skn, residual=residual, converged=converged,
        fermi_level=fermi_level, gap=gap, masses=masses,
    )  # fmt: skip


def filled_bands_of(eig_skn: np.ndarray, occ_skn: np.ndarray, point_kc: np.ndarray, fermi_s: Sequence[float]) -> (
    tuple[int, ...] | None
):  # fmt: skip
    """How many bands of each spin channel are full, by the points of a self-consistent run; None in a metal."""
    if band_gap(eig_skn, occ_skn, point_kc, fermi_s).metal:
        return None
    return tuple(int(count) for count in (eig_skn[:, 0] <= np.asarray(fermi_s)[:, None]).sum(axis=1))


def _gap(eig_skn: np.ndarray, point_kc: np.ndarray, filled_s: Sequence[int] | None) -> BandGap:
    """On these points, with as many bands full as in the self-consistent run."""
    if filled_s is None:
        return METAL
    fermi_s, bands = [], eig_skn.shape[2]
    occ_skn = np.zeros_like(eig_skn)
    for eig_kn, occ_kn, filled in zip(eig_skn, occ_skn, filled_s, strict=True):
        occ_kn[:, :filled] = 1.0
        top = eig_kn[:, filled - 1].max() if filled else eig_kn.min() - 1.0
        bottom = eig_kn[:, filled].min() if filled < bands else top + 1.0
        if bottom <= top:  # the bands overlap on the way between the points of the mesh
            return METAL
        fermi_s.append(0.5 * (top + bottom))
    return band_gap(eig_skn, occ_skn, point_kc, fermi_s)


def _masses(
    kpoints: KPoints, distance_k: np.ndarray, eig_skn: np.ndarray, gap: BandGap, filled_s: Sequence[int]
) -> tuple[EffectiveMass, ...]:
    """Of holes at the top of the valence bands and electrons at the bottom of the conduction bands."""
    found: list[EffectiveMass] = []
    assert kpoints.line_k is not None
    for edge, carrier in ((gap.top, "hole"), (gap.bottom, "electron")):
        if edge is None:
            continue
        away_kc = kpoints.point_kc - np.asarray(edge.point_c)
        same_k = np.abs(away_kc - np.rint(away_kc)).max(axis=1) < SAME_POINT
        for k in np.flatnonzero(same_k):
            on_line = np.flatnonzero(kpoints.line_k == kpoints.line_k[k])
            first, last = int(on_line[0]), int(on_line[-1])
            ends = (kpoints.label_k[first] or "start", kpoints.label_k[last] or "end")
            towards = {first: ends[1], last: ends[0]}.get(int(k), f"{ends[0]}-{ends[1]}")
            found += masses_at(
                distance_k[on_line], eig_skn[edge.spin - 1, on_line], int(k) - first, edge, filled_s[edge.spin - 1],
                carrier, towards,
            )
    unique: dict[tuple[str, int, str], EffectiveMass] = {}
    for mass in found:
        unique.setdefault((mass.carrier, mass.band, mass.towards), mass)
    return tuple(unique.values())
