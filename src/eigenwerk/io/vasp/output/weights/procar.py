"""Write PROCAR: weights of all orbitals on atoms and angular momenta.  docs/formats/procar.md gives the columns."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from eigenwerk.io.atomic_write import replacing
from eigenwerk.io.vasp.output.record import BandsRecord, ProjectionRecord, RunRecord
from eigenwerk.io.vasp.output.weights.projections import LM_COLUMNS

_TITLES = {False: "PROCAR lm decomposed", True: "PROCAR lm decomposed + phase"}
_BY_L = "PROCAR new format"


def write_procar(path: str | Path, record: RunRecord, second: bool = False) -> None:
    """Write the PROCAR of the last ionic step; second: of the second list of k-points.

    Raises InputError if the file cannot be written, ValueError if the record has no projections.
    """
    final = record.final
    bands = BandsRecord(record.kpoint_kc, record.weight_k, final.eig_skn, final.occ_skn, projections=final.projections)
    bands = record.second if second and record.second is not None else bands
    if bands.projections is None:
        raise ValueError("PROCAR without projections")
    with replacing(path) as new, open(new, "w", encoding="utf-8") as out:
        out.writelines(_pieces(bands, bands.projections))


def bytes_of(points: int, spins: int, bands: int, atoms: int, columns: int, phases: bool) -> int:
    """About how large the file becomes."""
    table = (atoms + 2) * (6 + 7 * (columns + 1)) + 80
    return points * spins * bands * (table + (atoms + 2) * (12 + 15 * columns) * phases)


def _pieces(record: BandsRecord, projections: ProjectionRecord) -> Iterator[str]:
    """Each spin with a header of its own, then k-point by k-point, band by band."""
    eig_skn, phase_sknaL = record.eig_skn, projections.phase_sknaL
    spins, points, bands = eig_skn.shape
    atoms, names = len(projections.radius_a), projections.columns
    yield f"{_BY_L if names[1] != LM_COLUMNS[1] else _TITLES[phase_sknaL is not None]}\n"
    occ_skn = record.occ_skn * (2 if spins == 1 else 1)
    table = _Table(names, atoms)
    for s in range(spins):
        yield f"# of k-points:{points:5d}         # of bands:{bands:5d}         # of ions:{atoms:5d}\n"
        for k, (point_c, weight) in enumerate(zip(record.kpoint_kc, record.weight_k, strict=True)):
            place = " ".join(f"{value:.8f}" for value in point_c)
            yield f"\n k-point {k + 1:5d} :    {place}     weight = {weight:.8f}\n\n"
            for n in range(bands):
                yield f"band {n + 1:5d} # energy {eig_skn[s, k, n]:14.8f} # occ. {occ_skn[s, k, n]:11.8f}\n\n"
                yield table.weights(projections.weight_sknaL[s, k, n])
                if phase_sknaL is not None:
                    yield table.phases(phase_sknaL[s, k, n])
                yield "\n"
    yield "\n"


class _Table:
    """The two tables of one orbital; the lines of all of them have the same form."""

    def __init__(self, names: tuple[str, ...], atoms: int):
        count = len(names)
        self.head = "ion" + "".join(f"{name:>7}" for name in (*names, "tot")) + "\n"
        self.rows = ("%5d" + "%7.3f" * (count + 1) + "\n") * atoms
        self.sums = "tot  " + "%7.3f" * (count + 1) + "\n"
        self.phase_head = "ion  " + "".join(f"{name:>9}      " for name in names).rstrip() + "\n"
        self.phase_rows = ("%5d" + "%7.3f%7.3f " * count + "%7.3f\n") * atoms
        self.charge = "charge" + "%6.3f         " + "%6.3f         " * (count - 1) + "%6.3f\n"
        self.number_a1 = np.arange(1, atoms + 1)[:, None]

    def weights(self, weight_aL: np.ndarray) -> str:
        """Weights, their sums over the atoms' columns, and over the atoms."""
        all_ax = np.column_stack([weight_aL, weight_aL.sum(1)])
        rows = np.column_stack([self.number_a1, all_ax])
        return self.head + self.rows % tuple(rows.ravel().tolist()) + self.sums % tuple(all_ax.sum(0).tolist())

    def phases(self, phase_aL: np.ndarray) -> str:
        """Real and imaginary parts of numbers whose squares are the weights."""
        square_aL = np.abs(phase_aL) ** 2
        pair_ax = np.stack([phase_aL.real, phase_aL.imag], -1).reshape(len(phase_aL), -1)
        rows = np.column_stack([self.number_a1, pair_ax, square_aL.sum(1)])
        sums = (*square_aL.sum(0).tolist(), float(square_aL.sum()))
        return self.phase_head + self.phase_rows % tuple(rows.ravel().tolist()) + self.charge % sums
