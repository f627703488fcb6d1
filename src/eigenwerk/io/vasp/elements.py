"""The chemical symbols, hydrogen to oganesson, in the order of the atomic numbers; masses; formulas; D and T.

Masses are standard atomic weights (abridged, conventional values for elements with an interval), for elements without
a stable isotope that of a long-lived one.  Source: J. Meija et al., Pure Appl. Chem. 88, 265 (2016).
"""

from collections import Counter
from collections.abc import Sequence

SYMBOLS: tuple[str, ...] = tuple(
    """
    H He
    Li Be B C N O F Ne
    Na Mg Al Si P S Cl Ar
    K Ca Sc Ti V Cr Mn Fe Co Ni Cu Zn Ga Ge As Se Br Kr
    Rb Sr Y Zr Nb Mo Tc Ru Rh Pd Ag Cd In Sn Sb Te I Xe
    Cs Ba La Ce Pr Nd Pm Sm Eu Gd Tb Dy Ho Er Tm Yb Lu Hf Ta W Re Os Ir Pt Au Hg Tl Pb Bi Po At Rn
    Fr Ra Ac Th Pa U Np Pu Am Cm Bk Cf Es Fm Md No Lr Rf Db Sg Bh Hs Mt Ds Rg Cn Nh Fl Mc Lv Ts Og
    """.split()
)

ELEMENTS = frozenset(SYMBOLS)
"""The same symbols as a set, for questions of membership."""

_MASSES = """
    H 1.008 He 4.0026 Li 6.94 Be 9.0122 B 10.81 C 12.011 N 14.007 O 15.999 F 18.9984 Ne 20.1797 Na 22.9898 Mg 24.305
    Al 26.9815 Si 28.085 P 30.9738 S 32.06 Cl 35.45 Ar 39.948 K 39.0983 Ca 40.078 Sc 44.9559 Ti 47.867 V 50.9415
    Cr 51.9961 Mn 54.938 Fe 55.845 Co 58.9332 Ni 58.6934 Cu 63.546 Zn 65.38 Ga 69.723 Ge 72.63 As 74.9216 Se 78.971
    Br 79.904 Kr 83.798 Rb 85.4678 Sr 87.62 Y 88.9058 Zr 91.224 Nb 92.9064 Mo 95.95 Tc 97.9072 Ru 101.07 Rh 102.9055
    Pd 106.42 Ag 107.8682 Cd 112.414 In 114.818 Sn 118.71 Sb 121.76 Te 127.6 I 126.9045 Xe 131.293 Cs 132.9055
    Ba 137.327 La 138.9055 Ce 140.116 Pr 140.9077 Nd 144.242 Pm 144.9128 Sm 150.36 Eu 151.964 Gd 157.25 Tb 158.9254
    Dy 162.5 Ho 164.9303 Er 167.259 Tm 168.9342 Yb 173.054 Lu 174.9668 Hf 178.49 Ta 180.9479 W 183.84 Re 186.207
    Os 190.23 Ir 192.217 Pt 195.084 Au 196.9666 Hg 200.592 Tl 204.38 Pb 207.2 Bi 208.9804 Po 208.9824 At 209.9872
    Rn 222.0176 Fr 223.0197 Ra 226.0254 Ac 227.0277 Th 232.0377 Pa 231.0359 U 238.0289 Np 237.0482 Pu 244.0642
    Am 243.0614 Cm 247.0703 Bk 247.0703 Cf 251.0796 Es 252.083 Fm 257.0951 Md 258.0984 No 259.101 Lr 262.11
    Rf 267.122 Db 268.126 Sg 271.134 Bh 270.133 Hs 269.1338 Mt 278.156 Ds 281.165 Rg 281.166 Cn 285.177 Nh 286.182
    Fl 289.19 Mc 289.194 Lv 293.204 Ts 293.208 Og 294.214
""".split()

MASSES: dict[str, float] = {symbol: float(mass) for symbol, mass in zip(_MASSES[::2], _MASSES[1::2], strict=True)}
"""Mass by chemical symbol, atomic mass units."""


COVALENT_RADII = dict(
    zip(
        SYMBOLS[:96],
        (
            *(0.31, 0.28, 1.28, 0.96, 0.84, 0.76, 0.71, 0.66, 0.57, 0.58, 1.66, 1.41, 1.21, 1.11, 1.07, 1.05, 1.02),
            *(1.06, 2.03, 1.76, 1.70, 1.60, 1.53, 1.39, 1.39, 1.32, 1.26, 1.24, 1.32, 1.22, 1.22, 1.20, 1.19, 1.20),
            *(1.20, 1.16, 2.20, 1.95, 1.90, 1.75, 1.64, 1.54, 1.47, 1.46, 1.42, 1.39, 1.45, 1.44, 1.42, 1.39, 1.39),
            *(1.38, 1.39, 1.40, 2.44, 2.15, 2.07, 2.04, 2.03, 2.01, 1.99, 1.98, 1.98, 1.96, 1.94, 1.92, 1.92, 1.89),
            *(1.90, 1.87, 1.87, 1.75, 1.70, 1.62, 1.51, 1.44, 1.41, 1.36, 1.36, 1.32, 1.45, 1.46, 1.48, 1.40, 1.50),
            *(1.50, 2.60, 2.21, 2.15, 2.06, 2.00, 1.96, 1.90, 1.87, 1.80, 1.69),
        ),
        strict=True,
    )
)
"""Å; of manganese, iron and cobalt those of low spin.  Source: B. Cordero et al., Dalton Trans., 2832 (2008)."""

OTHER_RADIUS = 1.5
"""Å, of elements that the table does not have."""


def formula(symbols: Sequence[str]) -> str:
    """Si2, or Mg2O for Mg Mg O; elements in the order of the file."""
    counts = Counter(symbols)
    return "".join(f"{symbol}{count if count > 1 else ''}" for symbol, count in counts.items())


ISOTOPES = {"D": ("H", 2.014), "T": ("H", 3.016)}
"""Element and mass (amu) by symbol.  Source: M. Wang et al., Chinese Phys. C 45, 030003 (2021): 2.01410, 3.01605."""

MARK = ":"
"""In a `Poscar` the element of an isotope's run is H, and the text that follows its symbol begins so."""


def element_of(symbol: str, rest: str) -> tuple[str, str]:
    """Element and rest of a name that may be one of an isotope: D_h -> H and :D_h."""
    return (ISOTOPES[symbol][0], MARK + symbol + rest) if symbol in ISOTOPES else (symbol, rest)


def without_isotope(suffix: str) -> str:
    """What follows the symbol of an element or isotope."""
    return suffix[2:] if _isotope(suffix) else suffix


def name_of(symbol: str, suffix: str) -> str:
    """The name of a species as files have it."""
    isotope = _isotope(suffix)
    return isotope + suffix[2:] if isotope else symbol + suffix


def isotope_masses(runs: Sequence[tuple[str, int]], suffixes: Sequence[str]) -> tuple[float | None, ...]:
    """The mass of each run that is of an isotope, amu; None for elements."""
    found = (_isotope(suffix) for suffix in suffixes or ("",) * len(runs))
    return tuple(ISOTOPES[isotope][1] if isotope else None for isotope in found)


def _isotope(suffix: str) -> str:
    return suffix[1] if suffix[:1] == MARK and suffix[1:2] in ISOTOPES else ""
