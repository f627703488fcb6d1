"""The door to the libraries dftd3 and dftd4: energies of D3 and D4 with their derivatives.

    E = -Σ_a<b Σ_n=6,8 s_n C_n,ab f_n(r_ab) / r_abⁿ + s9 E_ABC,   f by zero damping or by that of Becke and Johnson

C_n depend on the neighbours of both atoms; in D4 on their charges besides, which follow from that of the cell.
"""

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np

from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.dispersion.correction import D3_ZERO, D4, DispersionCorrection
from eigenwerk.dft.dispersion.libraries import COUNTED, PACKAGES, PAIRS, PARTS, THREE_BODIES
from eigenwerk.dft.dispersion.position_energy import PositionEnergy
from eigenwerk.io.vasp.elements import SYMBOLS


def library_energy(correction: DispersionCorrection, structure: Structure, workers: int = 1) -> PositionEnergy:
    """The energy with its derivatives, three-body terms by so many threads.  RuntimeError where the library fails."""
    if not correction.parameters["s9"]:
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
