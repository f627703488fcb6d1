"""The cases of published.py: structures, INCAR tags and meshes.

HSE06 gaps have lattices measured at room temperature (Å), for their table names crystals and no edges; PBE0 gaps have
the edges of their table.  PBE stands beside the hybrids: where it agrees with the published PBE and the hybrid does
not, it is the exchange; where both miss, structure or data set.
"""

import csv
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

PUBLISHED = Path(__file__).resolve().parents[3] / "shared/reference/published"

SEMILOCAL: dict[str, object] = {}
HSE06, PBE0 = {"LHFCALC": "T", "HFSCREEN": 0.2}, {"LHFCALC": "T"}
FUNCTIONALS = {"pbe": SEMILOCAL, "hse06": HSE06, "pbe0": PBE0}
COMMON = {"PREC": "Accurate", "ISMEAR": 0, "SIGMA": 0.01, "EDIFF": "1E-5", "LWAVE": "F", "LCHARG": "F", "NELM": 80,
          "ISIF": 0}  # fmt: skip

FCC = ((0, 0.5, 0.5), (0.5, 0, 0.5), (0.5, 0.5, 0))
CUBE = ((1, 0, 0), (0, 1, 0), (0, 0, 1))
DIAMOND, ROCKSALT, ALONE = ((0, 0, 0), (0.25, 0.25, 0.25)), ((0, 0, 0), (0.5, 0.5, 0.5)), ((0, 0, 0),)
LINE = tuple((0.0, t, t) for t in (0.4, 0.4125, 0.425, 0.4375, 0.45))
"""Towards X, where silicon and diamond have the bottom of the conduction bands."""

ANTIFERRO = ((1, 0.5, 0.5), (0.5, 1, 0.5), (0.5, 0.5, 1))
ANTIFERRO_SITES = ((0, 0, 0), (0.5, 0.5, 0.5), (0.25, 0.25, 0.25), (0.75, 0.75, 0.75))

BOX = (9.0, 9.5, 10.0)
"""Å; no two axes the same, so that open shells of atoms have a lowest state."""


@dataclass(frozen=True)
class Case:
    """One run.

    name: kind/crystal/functional[/more]; cell, scaled: Å and fractional; mesh: Gamma-centred; tags: beside COMMON;
    line: more points; cost: seconds guessed, the dearest begin first; kernel: of unscreened exchange.
    """

    name: str
    symbols: tuple[str, ...]
    cell: np.ndarray
    scaled: np.ndarray
    mesh: tuple[int, int, int]
    tags: Mapping[str, object]
    line: tuple[tuple[float, ...], ...] = ()
    cost: float = 1.0
    kernel: str = "probe charge"
    facts: Mapping[str, object] = field(default_factory=dict)

    @property
    def functional(self) -> str:
        """pbe, hse06 or pbe0."""
        return self.name.split("/")[2]


def _case(name, symbols, cell, scaled, n, cutoff, bands, line=(), cost=1.0, kernel="probe charge", facts=None, **more):
    mesh = (n, n, n) if isinstance(n, int) else n
    tags = COMMON | {"ENCUT": cutoff, "NBANDS": bands} | FUNCTIONALS[name.split("/")[2]] | more
    cell, scaled = np.array(cell, float), np.array(scaled, float)
    return Case(name, tuple(symbols), cell, scaled, mesh, tags, line, cost, kernel, facts or {})


def gaps() -> list[Case]:
    """HSE06 beside 472 solids of Borlido and others."""
    zno = [[3.2495, 0, 0], [-3.2495 / 2, 3.2495 * 3**0.5 / 2, 0], [0, 0, 5.2069]]
    zno_sites = [(1 / 3, 2 / 3, 0), (2 / 3, 1 / 3, 0.5), (1 / 3, 2 / 3, 0.3825), (2 / 3, 1 / 3, 0.8825)]
    x, y = 0.3053, 0.1947
    rutile = [(0, 0, 0), (0.5, 0.5, 0.5), (x, x, 0), (1 - x, 1 - x, 0), (0.5 + x, y, 0.5), (y, 0.5 + x, 0.5)]
    a, c, z = 3.7845, 9.5143, 0.2081
    anatase = np.array([[-a, a, c], [a, -a, c], [a, a, -c]]) / 2
    places = np.array([[0, 0, 0], [0, a / 2, c / 4], [0, 0, z * c], [0, 0, -z * c], [0, a / 2, c / 4 + z * c],
                       [0, a / 2, c / 4 - z * c]])  # fmt: skip
    crystals = {
        "Si": (["Si"] * 2, 5.431 * np.array(FCC), DIAMOND, 6, 300, 8, LINE, 25),
        "C": (["C"] * 2, 3.567 * np.array(FCC), DIAMOND, 6, 600, 8, LINE, 25),
        "GaAs": (["Ga", "As"], 5.6533 * np.array(FCC), DIAMOND, 6, 300, 8, (), 25),
        "MgO": (["Mg", "O"], 4.212 * np.array(FCC), ROCKSALT, 6, 600, 12, (), 40),
        "NaCl": (["Na", "Cl"], 5.6402 * np.array(FCC), ROCKSALT, 4, 550, 12, (), 30),
        "ZnO": (["Zn"] * 2 + ["O"] * 2, zno, zno_sites, (5, 5, 3), 550, 22, (), 60),
        "TiO2": (["Ti"] * 2 + ["O"] * 4, np.diag([4.5937, 4.5937, 2.9587]), rutile, (3, 3, 5), 550, 28, (), 100),
        "TiO2_anatase": (["Ti"] * 2 + ["O"] * 4, anatase, places @ np.linalg.inv(anatase), 4, 550, 28, (), 120),
    }  # fmt: skip
    found = []
    for crystal, (symbols, cell, scaled, mesh, cutoff, bands, line, cost) in crystals.items():
        for functional in ("hse06", "pbe"):
            name, share = f"gap/{crystal}/{functional}", cost if functional == "hse06" else 0
            found.append(_case(name, symbols, cell, scaled, mesh, cutoff, bands, line, share))
    for crystal, n in (("Si", 4), ("Si", 8), ("MgO", 4)):  # convergence with the mesh
        symbols, cell, scaled, _, cutoff, bands, line, cost = crystals[crystal]
        name, share = f"gap/{crystal}/hse06/{n}", cost * n**3 / 150
        found.append(_case(name, symbols, cell, scaled, n, cutoff, bands, line, share))
    return found


def transitions() -> list[Case]:
    """PBE0 beside Betzinger and others, all electrons, at their lattice constants."""
    crystals = {
        "Si": (["Si"] * 2, 5.421, DIAMOND, 300, 8), "C": (["C"] * 2, 3.553, DIAMOND, 600, 8),
        "GaAs": (["Ga", "As"], 5.640, DIAMOND, 300, 8), "MgO": (["Mg", "O"], 4.189, ROCKSALT, 600, 12),
        "NaCl": (["Na", "Cl"], 5.569, ROCKSALT, 550, 12), "Ar": (["Ar"], 5.260, ALONE, 550, 8),
    }  # fmt: skip
    return [
        _case(f"transition/{crystal}/{functional}/{n}", symbols, a * np.array(FCC), scaled, n, cutoff, bands,
              cost=0.1 * n**3 if functional == "pbe0" else 0)
        for crystal, (symbols, a, scaled, cutoff, bands) in crystals.items()
        for functional, n in (("pbe0", 6), ("pbe0", 4), ("pbe", 6))
    ]  # fmt: skip


STRAINS = (-0.03, -0.02, -0.01, 0.0, 0.01, 0.02, 0.03)
LATTICES = {
    # HSE06 edge of the table, from which lengths are counted
    "C": (["C"] * 2, 3.549, DIAMOND, 850, 6), "Si": (["Si"] * 2, 5.435, DIAMOND, 350, 6),
    "SiC": (["Si", "C"], 4.347, DIAMOND, 850, 6), "AlP": (["Al", "P"], 5.472, DIAMOND, 400, 6),
    "LiF": (["Li", "F"], 4.018, ROCKSALT, 900, 6),
}  # fmt: skip


def lattices() -> list[Case]:
    """Energies over seven volumes: HSE06 with 4³ points, PBE with 4³ and 8³, one cutoff for all volumes."""
    return [
        _case(f"lattice/{crystal}/{functional}/{n}/{strain:+.2f}", symbols, a * (1 + strain) * np.array(FCC), scaled, n,
              cutoff, bands, cost=6 if functional == "hse06" else 0, EDIFF="1E-6", facts={"a": a * (1 + strain)})
        for crystal, (symbols, a, scaled, cutoff, bands) in LATTICES.items()
        for functional, n in (("hse06", 4), ("pbe", 4), ("pbe", 8))
        for strain in STRAINS
    ]  # fmt: skip


def magnets() -> list[Case]:
    """Antiferromagnets (planes 111) and aluminium."""
    nio, mno = (["Ni"] * 2 + ["O"] * 2, ANTIFERRO_SITES), (["Mn"] * 2 + ["O"] * 2, ANTIFERRO_SITES)
    found = []
    for n, cost in ((2, 25), (4, 250)):
        found += [
            _case(f"magnet/NiO/hse06/{n}", nio[0], 4.17 * np.array(ANTIFERRO), nio[1], n, 500, 28, (), cost,
                  ISPIN=2, MAGMOM="2 -2 0 0", LORBIT=11),
            _case(f"magnet/MnO/pbe0/{n}", mno[0], 4.40 * np.array(ANTIFERRO), mno[1], n, 500, 28, (), cost,
                  ISPIN=2, MAGMOM="5 -5 0 0", LORBIT=11),
        ]  # fmt: skip
    for n in (6, 8):
        for functional, cost in (("hse06", 0.1 * n**3), ("pbe", 0)):
            name, cell = f"metal/Al/{functional}/{n}", 4.05 * np.array(FCC)
            found.append(_case(name, ["Al"], cell, ALONE, n, 300, 8, (), cost, ISMEAR=1, SIGMA=0.2))
    return found


DIATOMICS = {"HF": "FH", "N2": "N2", "CO": "CO", "O2": "O2", "F2": "F2"}
"""Names in the table of bond lengths."""

LARGER = ("CH4", "NH3", "H2O", "C2H2", "HCN")
MOMENTS = {"H": 1, "C": 2, "N": 3, "O": 2, "F": 1, "O2": 2}
VALENCE = {"H": 1, "C": 4, "N": 5, "O": 6, "F": 7}


def molecules() -> list[Case]:
    """Ten molecules and their atoms; 1/r ends at the Wigner-Seitz cell of the box.

    Diatomics have the bond lengths that were published for the functional, the others relax from those of ASE's G2 set.
    """
    from ase.data.g2_1 import data

    length = {row["molecule"]: row for row in csv.DictReader((PUBLISHED / "g21_bondlengths_paier2005_A.csv").open())}
    found = []
    for functional in ("pbe0", "pbe"):
        for name in (*DIATOMICS, *LARGER, *VALENCE):
            symbols, place_av, more = [name], np.zeros((1, 3)), {}
            if name in DIATOMICS:
                symbols = {"HF": ["F", "H"], "CO": ["C", "O"]}.get(name, [name[0], name[0]])
                place_av = np.array([[0, 0, 0], [0, 0, float(length[DIATOMICS[name]][f"{functional.upper()}_VASP"])]])
            elif name in LARGER:
                symbols, place_av = _sorted(data[name]["symbols"], np.array(data[name]["positions"]))
                more = {"IBRION": 2, "NSW": 8, "EDIFFG": -0.05, "POTIM": 0.3}
            place_av = place_av - 0.5 * (place_av.max(0) + place_av.min(0)) + 0.5 * np.array(BOX)
            electrons = sum(VALENCE[symbol] for symbol in symbols)
            moment = MOMENTS.get(name, 0)
            if moment:
                start = [f"{moment / len(symbols)}"] * len(symbols)
                more |= {"ISPIN": 2, "NUPDOWN": moment, "MAGMOM": " ".join(start)}
            bands = (electrons + moment + 1) // 2 + 3
            found.append(
                _case(f"molecule/{name}/{functional}", symbols, np.diag(BOX), place_av / np.array(BOX), 1, 800, bands,
                      (), 30 if functional == "pbe0" else 10, "Wigner-Seitz", **more)
            )  # fmt: skip
    return found


def _sorted(symbols, place_av):
    """Elements together, as POSCAR has them."""
    if isinstance(symbols, str):
        from ase.symbols import string2symbols

        symbols = string2symbols(symbols)
    order = sorted(range(len(symbols)), key=lambda i: symbols[i])
    return [symbols[i] for i in order], place_av[order]


def all_cases() -> list[Case]:
    """Every case."""
    return [*gaps(), *transitions(), *lattices(), *magnets(), *molecules()]
