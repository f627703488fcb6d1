"""The door to the libraries dftd3 and dftd4, which hold D3 and D4: parameters by functional, energies and derivatives.

    E = -Σ_a<b Σ_n=6,8 s_n C_n,ab f_n(r_ab) / r_abⁿ + s9 E_ABC,   f by zero damping or by that of Becke and Johnson

C_n depend on the neighbours of both atoms; in D4 on their charges besides, which follow from that of the cell.
Sources: S. Grimme, J. Antony, S. Ehrlich and H. Krieg, J. Chem. Phys. 132, 154104 (2010); S. Grimme, S. Ehrlich and
L. Goerigk, J. Comput. Chem. 32, 1456 (2011); E. Caldeweyher et al., J. Chem. Phys. 150, 154122 (2019).
"""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from importlib.util import find_spec
from typing import Any

import numpy as np

from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.dispersion.position_energy import PositionEnergy
from eigenwerk.dft.settings.dispersion import D3_BJ, D3_ZERO, D4, DispersionCorrection
from eigenwerk.io.vasp.elements import SYMBOLS

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
"""Pieces into which the sums of D4 are cut, whatever the number of threads, so that results have the same bits."""

THREE_BODIES, PAIRS, COUNTED = 40.0, 60.0, {"dftd3": 40.0, "dftd4": 30.0}
"""Cutoffs of the libraries, bohr: of triples, of pairs, of neighbours that are counted."""

_SETS = {D3_ZERO: "zero", D3_BJ: "bj", D4: "bj-eeq-atm"}


def is_missing(method: str) -> bool:
    """Whether the library of a method is not installed."""
    return method in PACKAGES and find_spec(PACKAGES[method]) is None


@cache
def parameters_by_functional(method: str) -> Mapping[str, Mapping[str, float]]:
    """All that the library has for a method: its name of a functional -> parameters, without those that are `USUAL`."""
    if PACKAGES[method] == "dftd3":
        from dftd3.parameters import get_all_damping_params
    else:
        from dftd4.parameters import get_all_damping_params
    names = {*NEEDED[method], "s6", "rs8"} & {*NEEDED[method], *USUAL[method]}
    found = get_all_damping_params([_SETS[method]])
    return {
        name: {key: float(value) for key, value in values.items() if key in names}
        for name, values in found.items() if set(NEEDED[method]) <= set(values)
    }  # fmt: skip


def library_energy(correction: DispersionCorrection, structure: Structure, workers: int = 1) -> PositionEnergy:
    """The energy with its derivatives; D4 by so many threads.  RuntimeError where the library does not know."""
    if correction.method != D4:
        return _part(correction, structure)
    parts = [partial(_part, correction, structure, number, PARTS) for number in range(PARTS)]
    if workers < 2:
        return PositionEnergy.sum([part() for part in parts])
    with ThreadPoolExecutor(min(workers, PARTS)) as pool:
        return PositionEnergy.sum([future.result() for future in [pool.submit(part) for part in parts]])


def _part(correction: DispersionCorrection, structure: Structure, number: int = 0, parts: int = 1) -> PositionEnergy:
    model, damping = _model(correction, structure)
    counted = correction.coordination_radius or COUNTED[PACKAGES[correction.method]]
    model.set_realspace_cutoff(correction.radius or PAIRS, THREE_BODIES, counted)
    if parts > 1:
        model.set_work_partition(number, parts)
    found = model.get_dispersion(damping, grad=True)
    return PositionEnergy(float(found["energy"]), np.array(found["gradient"]), np.array(found["virial"]))


def _model(correction: DispersionCorrection, structure: Structure) -> tuple[Any, Any]:
    """The library's model of the atoms, and its damping."""
    place: dict[str, Any] = {
        "numbers": np.array([SYMBOLS.index(symbol) + 1 for symbol in structure.symbols]),
        "positions": structure.positions_av, "lattice": structure.lattice_cv, "periodic": np.array([True] * 3),
    }  # fmt: skip
    if correction.method == D4:
        from dftd4.interface import DampingParam
        from dftd4.interface import DispersionModel as ChargedModel

        return ChargedModel(charge=correction.charge, **place), DampingParam(**correction.parameters)
    from dftd3.interface import DispersionModel, RationalDampingParam, ZeroDampingParam

    damping = ZeroDampingParam if correction.method == D3_ZERO else RationalDampingParam
    return DispersionModel(**place), damping(**correction.parameters)
