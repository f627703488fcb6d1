"""The five small cells, as plain numbers that both codes read."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Cell:
    """One comparison.

    cell: rows, angstrom; scaled: fractional positions; moments: starting moments or None; mesh: Gamma-centred;
    cutoff, width (Fermi-Dirac): eV; bands: orbitals for each k-point and spin; gpts: FFT grid of the orbitals.
    """

    name: str
    symbols: tuple[str, ...]
    cell: tuple[tuple[float, float, float], ...]
    scaled: tuple[tuple[float, float, float], ...]
    mesh: tuple[int, int, int]
    cutoff: float
    width: float
    bands: int
    gpts: tuple[int, int, int]
    moments: tuple[float, ...] | None = None


def _fcc(a: float) -> tuple[tuple[float, float, float], ...]:
    return ((0.0, a / 2, a / 2), (a / 2, 0.0, a / 2), (a / 2, a / 2, 0.0))


def _cube(a: float, b: float | None = None, c: float | None = None) -> tuple[tuple[float, float, float], ...]:
    return ((a, 0.0, 0.0), (0.0, b or a, 0.0), (0.0, 0.0, c or a))


_FCC_SITES = ((0.0, 0.0, 0.0), (0.0, 0.5, 0.5), (0.5, 0.0, 0.5), (0.5, 0.5, 0.0))
_OCTAHEDRAL = ((0.5, 0.5, 0.5), (0.5, 0.0, 0.0), (0.0, 0.5, 0.0), (0.0, 0.0, 0.5))
_BOX = 8.0

CELLS = (
    Cell("Si2", ("Si",) * 2, _fcc(5.43), ((0.0, 0.0, 0.0), (0.25, 0.25, 0.25)), (8, 8, 8), 400.0, 0.05, 8, (20,) * 3),
    Cell("Al4", ("Al",) * 4, _cube(4.05), _FCC_SITES, (12, 12, 12), 300.0, 0.1, 12, (18,) * 3),
    Cell("MgO8", ("Mg",) * 4 + ("O",) * 4, _cube(4.25), _FCC_SITES + _OCTAHEDRAL, (4,) * 3, 500.0, 0.05, 36, (24,) * 3),
    Cell(
        "Fe2", ("Fe", "Fe"), _cube(2.87), ((0.0, 0.0, 0.0), (0.5, 0.5, 0.5)), (8, 8, 8), 450.0, 0.1, 16, (16, 16, 16),
        (2.5, 2.5),
    ),
    Cell(
        "H2O", ("O", "H", "H"), _cube(_BOX),
        ((0.0, 0.0, 0.0), (0.0, 0.7632 / _BOX, 0.5956 / _BOX), (0.0, -0.7632 / _BOX, 0.5956 / _BOX)),
        (1, 1, 1), 500.0, 0.05, 8, (48, 48, 48),
    ),
)  # fmt: skip


def named(name: str) -> Cell:
    """The cell of that name."""
    return next(cell for cell in CELLS if cell.name == name)
