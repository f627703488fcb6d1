"""What OUTCAR says of finite displacements: second derivatives, modes, internal strain, elastic constants."""

from collections.abc import Iterator

import numpy as np

from eigenwerk.io.vasp.output.outcar.header import RULE
from eigenwerk.io.vasp.output.xml.vibrations import ElasticRecord, VibrationRecord
from eigenwerk.units import THZ_MEV, THZ_PER_CM

_ORDER = [0, 1, 2, 5, 3, 4]
"""VASP's order of strains, xx yy zz xy yz zx, in ours."""

_NAMES = ("XX", "YY", "ZZ", "XY", "YZ", "ZX")


def vibrations(record: VibrationRecord, position_av: np.ndarray) -> Iterator[str]:
    """All blocks; position_av: Cartesian, Å."""
    yield RULE
    if record.elastic is not None:
        yield from _strained(record.elastic)
    yield from _second_derivatives(record)
    yield from _modes(record, position_av)
    yield f"\n Finite differences POTIM={record.displacement:18.8f}\n"
    if record.elastic is not None:
        yield from _table("ELASTIC MODULI CONTR FROM IONIC RELAXATION (kBar)", record.elastic.ionic_jj)
        yield from _table("TOTAL ELASTIC MODULI (kBar)", record.elastic.total_jj)
    yield RULE


def _second_derivatives(record: VibrationRecord) -> Iterator[str]:
    """∂F/∂u of free coordinates, eV/Å², as measured."""
    names = [f"{a + 1}{'XYZ'[v]}" for a, v in np.argwhere(record.free_av)]
    yield "\n SECOND DERIVATIVES (NOT SYMMETRIZED)\n ------------------------------------\n"
    yield " " * 8 + "".join(f"{name:>12}" for name in names) + "\n"
    for name, row_x in zip(names, -record.measured_xx, strict=True):
        yield f" {name:<7}" + " %11.6f" * len(row_x) % tuple(row_x.tolist()) + "\n"
    yield "\n"


def _modes(record: VibrationRecord, position_av: np.ndarray) -> Iterator[str]:
    """Frequencies in four units, `f/i` if imaginary; positions and eigenvector of each mode."""
    yield f" \n Eigenvectors and eigenvalues of the dynamical matrix\n {'-' * 52}\n \n \n"
    for n, (thz, vector_av) in enumerate(zip(record.thz_n.tolist(), record.vector_nav, strict=True), start=1):
        size = abs(thz)
        units = (
            f"{size:12.6f} THz{2 * np.pi * size:13.6f} 2PiTHz{THZ_PER_CM * size:12.6f} cm-1{THZ_MEV * size:13.6f} meV"
        )
        yield f"{n:4d} {'f/i=' if thz < 0 else 'f  ='}{units}\n"
        yield "             X         Y         Z           dx          dy          dz\n"
        rows = np.column_stack([position_av, vector_av])
        yield ("    " + "%10.6f" * 3 + " " + "%12.6f" * 3 + "  \n") * len(rows) % tuple(rows.ravel().tolist())
        yield " \n"


def _strained(elastic: ElasticRecord) -> Iterator[str]:
    """What strained cells gave with clamped ions."""
    yield "\n INTERNAL STRAIN TENSORS FROM STRAINED CELLS\n ===========================================\n"
    for a, strain_vj in enumerate(elastic.internal_strain_avj, start=1):
        yield f"\n INTERNAL STRAIN TENSOR FOR ION {a:4d} for displacements in x,y,z  (eV/Angst):\n"
        yield "          X           Y           Z          XY          YZ          ZX\n"
        yield f"  {'-' * 80}\n"
        for axis, row_j in zip("xyz", strain_vj[:, _ORDER], strict=True):
            yield f"  {axis}" + " %11.5f" * 6 % tuple(row_j.tolist()) + "\n"
    yield "\n"
    yield from _table("ELASTIC MODULI  (kBar)", elastic.measured_jj)
    yield from _table("SYMMETRIZED ELASTIC MODULI (kBar)", elastic.clamped_jj)


def _table(title: str, matrix_jj: np.ndarray) -> Iterator[str]:
    """Six by six."""
    yield f"\n {title}\n Direction    XX          YY          ZZ          XY          YZ          ZX\n {'-' * 80}\n"
    for name, row_j in zip(_NAMES, matrix_jj[np.ix_(_ORDER, _ORDER)], strict=True):
        yield f" {name}     " + " %11.4f" * 6 % tuple(row_j.tolist()) + "\n"
    yield f" {'-' * 80}\n\n"
