"""Crystals and surfaces of the reference jobs, from published lattice constants and coordinates (Å)."""

from itertools import permutations

import numpy as np

from eigenwerk.dft.building.sites import drawn_atoms, nearest_atom, remove_atoms, replace_atoms
from eigenwerk.dft.building.slab import SlabCut, cut_slab
from eigenwerk.dft.building.supercell import supercell, wrapped
from eigenwerk.io.vasp.input.poscar import Poscar

FCC = np.array([[0, 0, 0], [0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]])
CENTRE = np.array([0.5, 0.5, 0.5])

SILICON = 5.431
"""Edge of the cubic cell; P. Becker et al., Metrologia 19, 49 (1983), rounded."""

GALLIUM_ARSENIDE = 5.6533
"""J. S. Blakemore, J. Appl. Phys. 53, R123 (1982)."""

COPPER, PALLADIUM = 3.6149, 3.8907
"""R. W. G. Wyckoff, Crystal Structures (1963), and later handbooks, at room temperature."""

HYDROGEN_VOLUME = 38.3
"""Volume per molecule of the solid without pressure, 23.1 cm³/mol; I. F. Silvera, Rev. Mod. Phys. 52, 393 (1980)."""

HYDROGEN_BOND = 0.741
"""K. P. Huber, G. Herzberg, Constants of Diatomic Molecules (1979)."""

HAFNIA = (5.1156, 5.1722, 5.2948, 99.18)
"""a, b, c, β of monoclinic HfO2; R. Ruh, P. W. R. Corfield, J. Am. Ceram. Soc. 53, 126 (1970)."""

BADDELEYITE = {"Hf": [(0.2754, 0.0395, 0.2083)], "O": [(0.0700, 0.3317, 0.3447), (0.4496, 0.7569, 0.4792)]}
"""Sites of the isostructural ZrO2, P2_1/c; C. J. Howard, R. J. Hill, B. E. Reichert, Acta Cryst. B 44, 116 (1988)."""

BORON_CELL = (10.96, 23.89)
"""Hexagonal a and c of β-boron, R-3m; D. Geist, R. Kloss, H. Follner, Acta Cryst. B 26, 1800 (1970)."""

BORON_SITES = (
    (0.5, 0.5, 0.5), (0.3848, 0.3848, 0.3848),
    (0.3843, 0.2131, 0.3843), (0.4895, 0.2178, 0.4895), (0.3873, 0.5690, 0.3873), (0.1991, 0.5061, 0.1991),
    (0.1983, 0.6874, 0.1983), (0.1032, 0.4921, 0.1032), (0.9933, 0.6698, 0.9933), (0.1008, 0.8374, 0.1008),
    (0.0025, 0.1680, 0.0025),
    (0.3622, 0.5811, 0.0976), (0.3765, 0.6826, 0.2024), (0.1673, 0.5521, 0.8921), (0.1777, 0.3473, 0.0033),
)  # fmt: skip
"""Rhombohedral coordinates; same source, in the origin of prototype A_hR105_166_bc9h4i of M. J. Mehl et al.,
Comput. Mater. Sci. 136, S1 (2017)."""

OXYGEN_HEIGHT = 0.85
"""Height of oxygen above the outermost layer in the hollows of Pd(100): 2.12 Å from four palladium atoms."""

CARBON_HEIGHT, CARBON_BOND = 1.3, 1.35
"""Height and bond of the carbon dimer on Cu(111), lying across a bridge: a start for relaxations."""


def silicon() -> Poscar:
    """Diamond structure, 8 atoms."""
    return _cubic("Si", SILICON, {"Si": [*FCC, *(FCC + 0.25)]})


def silicon_primitive(n: int) -> Poscar:
    """n x n x n primitive cells of silicon, 2 n³ atoms."""
    half = 0.5 * SILICON * np.array([[0, 1, 1], [1, 0, 1], [1, 1, 0]])
    two = Poscar("Si", half, ("Si", "Si"), np.array([[0, 0, 0], [0.25, 0.25, 0.25]]))
    return supercell(two, np.diag([n, n, n]))


def silicon_body_centred(n: int) -> Poscar:
    """Silicon in a body-centred cell with vectors n (-1 1 1) a / 2 and so on, n even: 4 n³ atoms."""
    return supercell(silicon(), n // 2 * np.array([[-1, 1, 1], [1, -1, 1], [1, 1, -1]]))


def with_vacancy(poscar: Poscar) -> Poscar:
    """One atom less: the one nearest to the middle of the cell."""
    return remove_atoms(poscar, [nearest_atom(poscar, CENTRE)])


def gallium_arsenide_bismide() -> Poscar:
    """Ga32 As31 Bi: a 2 x 2 x 2 supercell of GaAs with bismuth on one arsenic site."""
    crystal = _cubic("GaAs", GALLIUM_ARSENIDE, {"Ga": list(FCC), "As": list(FCC + 0.25)})
    cell = supercell(crystal, np.diag([2, 2, 2]))
    return replace_atoms(cell, {drawn_atoms(cell, "As", 1)[0]: "Bi"})


def hafnia(cells: tuple[int, int, int]) -> Poscar:
    """A supercell of monoclinic HfO2, 12 atoms per cell."""
    a, b, c, beta = HAFNIA[0], HAFNIA[1], HAFNIA[2], np.radians(HAFNIA[3])
    lattice_cv = np.array([[a, 0, 0], [0, b, 0], [c * np.cos(beta), 0, c * np.sin(beta)]])
    sites = {symbol: [image for site in rows for image in _p21c(site)] for symbol, rows in BADDELEYITE.items()}
    return supercell(_crystal("HfO2", lattice_cv, sites), np.diag(cells))


def boron() -> Poscar:
    """β-rhombohedral boron, 105 atoms: each site turned by the twelve operations of -3m."""
    a, c = BORON_CELL
    lattice_cv = np.array([[a / 2, a / 12**0.5, c / 3], [-a / 2, a / 12**0.5, c / 3], [0, -a / 3**0.5, c / 3]])
    images = [sign * np.array(turned) for site in BORON_SITES for turned in permutations(site) for sign in (1, -1)]
    rounded = {tuple(np.round(wrapped(image), 6)): None for image in images}
    return _crystal("B", lattice_cv, {"B": [np.array(site) for site in rounded]})


def palladium_oxygen(vacuum: float) -> Poscar:
    """Pd150 O24: ten layers of Pd(100), 3 x 5, and oxygen in 12 of 15 hollows of each face (every fifth is empty)."""
    bulk = _cubic("Pd", PALLADIUM, {"Pd": list(FCC)})
    slab = supercell(cut_slab(bulk, SlabCut((1, 0, 0), 10, vacuum)), np.diag([3, 5, 1]))
    z_a = slab.positions_av[:, 2]
    top = [_hollow(slab, i, j, z_a.max(), OXYGEN_HEIGHT) for i in range(3) for j in range(5) if (j - i) % 5]
    low = [_hollow(slab, i, j, z_a.min(), -OXYGEN_HEIGHT) for i in range(3) for j in range(5) if (j - i) % 5]
    return _with_adsorbates(slab, "O", np.array([*low, *top]))


def copper_carbon(vacuum: float) -> Poscar:
    """Cu96 C2: six layers of Cu(111), 4 x 4, with a carbon dimer on top."""
    bulk = _cubic("Cu", COPPER, {"Cu": list(FCC)})
    slab = supercell(cut_slab(bulk, SlabCut((1, 1, 1), 6, vacuum)), np.diag([4, 4, 1]))
    position_av = slab.positions_av
    top = position_av[int(np.argmax(position_av[:, 2]))]
    middle_v = top + 0.5 * COPPER / 2**0.5 * np.array([1.0, 0.0, 0.0]) + np.array([0.0, 0.0, CARBON_HEIGHT])
    half_v = np.array([0.0, 0.5 * CARBON_BOND, 0.0])
    return _with_adsorbates(slab, "C", np.array([middle_v - half_v, middle_v + half_v]))


def solid_hydrogen(n: int, seed: int) -> Poscar:
    """H2 molecules on n x n x n hexagonal close-packed cells (2 n³ molecules) with random directions."""
    a = (HYDROGEN_VOLUME * 2**0.5) ** (1 / 3)
    lattice_cv = a * np.array([[1, 0, 0], [-0.5, 0.75**0.5, 0], [0, 0, (8 / 3) ** 0.5]])
    centres = supercell(_crystal("H2", lattice_cv, {"H": [(1 / 3, 2 / 3, 0.25), (2 / 3, 1 / 3, 0.75)]}), np.eye(3) * n)
    direction_av = np.random.default_rng(seed).normal(size=centres.scaled_ac.shape)
    half_av = 0.5 * HYDROGEN_BOND * direction_av / np.linalg.norm(direction_av, axis=1)[:, None]
    position_av = np.stack([centres.positions_av - half_av, centres.positions_av + half_av], axis=1).reshape(-1, 3)
    return _crystal("H2", centres.lattice_cv, {"H": list(position_av @ np.linalg.inv(centres.lattice_cv))})


def _cubic(title: str, edge: float, sites: dict[str, list[np.ndarray]]) -> Poscar:
    return _crystal(title, edge * np.eye(3), sites)


def _crystal(title: str, lattice_cv: np.ndarray, sites: dict) -> Poscar:
    symbols = tuple(symbol for symbol, rows in sites.items() for _ in rows)
    return Poscar(title, lattice_cv, symbols, wrapped(np.array([site for rows in sites.values() for site in rows])))


def _p21c(site: tuple[float, float, float]) -> list[np.ndarray]:
    """The general position of P2_1/c, unique axis b."""
    x, y, z = site
    half = [(x, y, z), (-x, y + 0.5, 0.5 - z)]
    return [sign * np.array(point) for point in half for sign in (1, -1)]


def _hollow(slab: Poscar, i: int, j: int, level: float, height: float) -> np.ndarray:
    """Position of oxygen above (or below) the fourfold hollow (i, j) of the layer at this level, 3 x 5 cells."""
    layer = slab.positions_av[np.abs(slab.positions_av[:, 2] - level) < 0.1]
    origin_v = layer[np.lexsort((layer[:, 0], layer[:, 1]))[0]]
    step_v = (i + 0.5) / 3 * slab.lattice_cv[0] + (j + 0.5) / 5 * slab.lattice_cv[1]
    return np.array([*(origin_v + step_v)[:2], level + height])


def _with_adsorbates(slab: Poscar, symbol: str, position_av: np.ndarray) -> Poscar:
    scaled_ac = np.concatenate([slab.scaled_ac, position_av @ np.linalg.inv(slab.lattice_cv)])
    return Poscar(slab.title, slab.lattice_cv, slab.symbols + (symbol,) * len(position_av), wrapped(scaled_ac))
