"""The libraries dftd3 and dftd4, which hold D3 and D4: whether they are there, and their parameters by functional.

Sources: S. Grimme, J. Antony, S. Ehrlich and H. Krieg, J. Chem. Phys. 132, 154104 (2010); S. Grimme, S. Ehrlich and
L. Goerigk, J. Comput. Chem. 32, 1456 (2011); E. Caldeweyher et al., J. Chem. Phys. 150, 154122 (2019).
"""

from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec

from eigenwerk.dft.dispersion.correction import D3_BJ, D3_ZERO, D4

PACKAGES = {D3_ZERO: "dftd3", D3_BJ: "dftd3", D4: "dftd4"}

INSTALL = "pip install 'eigenwerk[dispersion]'"

NEEDED = {D3_ZERO: ("rs6", "s8"), D3_BJ: ("s8", "a1", "a2"), D4: ("s8", "a1", "a2")}
"""Parameters that a functional must have."""

USUAL = {
    D3_ZERO: {"s6": 1.0, "s9": 0.0, "rs8": 1.0, "alp": 14.0}, D3_BJ: {"s6": 1.0, "s9": 0.0, "alp": 14.0},
    D4: {"s6": 1.0, "s9": 1.0, "alp": 16.0},
}  # fmt: skip
"""The others.  The libraries' own s9 is 1 where parameters are given by number; that of D3 is 0 here, as in VASP."""

LAST = 103
"""The heaviest element of both; beyond it dftd3 says nothing, or ends the process."""

PARTS = 8
"""Pieces into which sums over triples are cut, whatever the number of threads, so that results have the same bits."""

THREE_BODIES, PAIRS, COUNTED = 40.0, 60.0, {"dftd3": 40.0, "dftd4": 30.0}
"""Cutoffs of the libraries, bohr: of triples, of pairs, of neighbours that are counted."""

_SETS = {D3_ZERO: "zero", D3_BJ: "bj", D4: "bj-eeq-atm"}


def is_missing(method: str) -> bool:
    """Whether the library of a method, or what that needs, is not installed."""
    return method in PACKAGES and any(find_spec(name) is None for name in (PACKAGES[method], "cffi"))


@cache
def parameters_by_functional(method: str) -> Mapping[str, Mapping[str, float]]:
    """All that the library has for a method: its name of a functional -> parameters, without those that are `USUAL`."""
    if PACKAGES[method] == "dftd3":
        from dftd3.parameters import get_all_damping_params as sets_of_d3

        found = sets_of_d3([_SETS[method]])
    else:
        from dftd4.parameters import get_all_damping_params as sets_of_d4

        found = sets_of_d4([_SETS[method]])
    names = {*NEEDED[method], "s6", "rs8"} & {*NEEDED[method], *USUAL[method]}
    return {
        name: {key: float(value) for key, value in values.items() if key in names}
        for name, values in found.items() if set(NEEDED[method]) <= set(values)
    }  # fmt: skip
