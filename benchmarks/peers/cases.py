"""The eight cells, as plain numbers that all codes read."""

from dataclasses import dataclass
from itertools import product
from math import cos, radians, sin

Rows = tuple[tuple[float, float, float], ...]


@dataclass(frozen=True)
class Cell:
    """One comparison.

    cell: rows, angstrom; scaled: fractional positions; moments: starting moments or None; mesh: Gamma-centred;
    cutoff, width (Fermi-Dirac): eV; bands: orbitals for each k-point and spin; gpts: FFT grid of the orbitals.
    """

    name: str
    symbols: tuple[str, ...]
    cell: Rows
    scaled: Rows
    mesh: tuple[int, int, int]
    cutoff: float
    width: float
    bands: int
    gpts: tuple[int, int, int]
    moments: tuple[float, ...] | None = None

    @property
    def species(self) -> tuple[str, ...]:
        """Elements in the order of their first atom."""
        return tuple(dict.fromkeys(self.symbols))

    @property
    def error_eV(self) -> float:
        """Largest error of the free energy that counts as converged."""
        return max(1e-5, 1e-6 * len(self.symbols))


def _fcc(a: float) -> Rows:
    return ((0.0, a / 2, a / 2), (a / 2, 0.0, a / 2), (a / 2, a / 2, 0.0))


def _cube(a: float, b: float | None = None, c: float | None = None) -> Rows:
    return ((a, 0.0, 0.0), (0.0, b or a, 0.0), (0.0, 0.0, c or a))


def _monoclinic(a: float, b: float, c: float, beta: float) -> Rows:
    return ((a, 0.0, 0.0), (0.0, b, 0.0), (c * cos(radians(beta)), 0.0, c * sin(radians(beta))))


def _repeated(scaled: Rows, n: int) -> Rows:
    """n x n x n cells of a crystal, in fractions of the large one."""
    return tuple(
        ((x + i) / n, (y + j) / n, (z + k) / n) for x, y, z in scaled for i, j, k in product(range(n), repeat=3)
    )


def _p21c(*sites: tuple[float, float, float]) -> Rows:
    """The four images of each general position of P2_1/c."""
    return tuple(
        (sx * x % 1, (sy * y + shift) % 1, (sz * z + shift) % 1)
        for x, y, z in sites
        for sx, sy, sz, shift in ((1, 1, 1, 0.0), (-1, -1, -1, 0.0), (-1, 1, -1, 0.5), (1, -1, 1, 0.5))
    )


def _layers(count: int, spacing: float, height: float, vacuum: float) -> Rows:
    """fcc (100) layers of 2 x 2 cubic cells (8 atoms each), one above the other, in a box with vacuum."""
    corners = [(x / 2 + s, y / 2 + t) for x, y in product(range(2), repeat=2) for s, t in ((0.0, 0.0), (0.25, 0.25))]
    return tuple(
        ((x + 0.25 * (level % 2)) % 1, y, (vacuum / 2 + level * spacing) / height)
        for level in range(count)
        for x, y in corners
    )


_FCC_SITES = ((0.0, 0.0, 0.0), (0.0, 0.5, 0.5), (0.5, 0.0, 0.5), (0.5, 0.5, 0.0))
_OCTAHEDRAL = ((0.5, 0.5, 0.5), (0.5, 0.0, 0.0), (0.0, 0.5, 0.0), (0.0, 0.0, 0.5))
_DIAMOND = _FCC_SITES + tuple((x + 0.25, y + 0.25, z + 0.25) for x, y, z in _FCC_SITES)
_BADDELEYITE = ((0.2754, 0.0395, 0.2083), (0.0700, 0.3317, 0.3447), (0.4496, 0.7569, 0.4792))
_BOX, _SLAB = 8.0, 16.2

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
    Cell(
        "HfO2-12", ("Hf",) * 4 + ("O",) * 8, _monoclinic(5.1156, 5.1722, 5.2948, 99.18), _p21c(*_BADDELEYITE),
        (2, 2, 2), 400.0, 0.05, 60, (28, 28, 28),
    ),
    Cell("Si64", ("Si",) * 64, _cube(10.86), _repeated(_DIAMOND, 2), (1, 1, 1), 300.0, 0.05, 140, (48, 48, 48)),
    Cell(
        "Al40-slab", ("Al",) * 40, _cube(8.1, 8.1, _SLAB), _layers(5, 2.025, _SLAB, _SLAB - 4 * 2.025), (2, 2, 1),
        300.0, 0.2, 80, (36, 36, 72),
    ),
)  # fmt: skip


def named(name: str) -> Cell:
    """The cell of that name."""
    return next(cell for cell in CELLS if cell.name == name)
