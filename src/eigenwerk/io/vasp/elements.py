"""The chemical symbols, hydrogen to oganesson, in the order of the atomic numbers; masses; formulas.

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


def formula(symbols: Sequence[str]) -> str:
    """Si2, or Mg2O for Mg Mg O; elements in the order of the file."""
    counts = Counter(symbols)
    return "".join(f"{symbol}{count if count > 1 else ''}" for symbol, count in counts.items())
