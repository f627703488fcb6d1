"""What the levels of a state say, in eV: gap, density of states, weights on atoms, bands of other k-points."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch

from eigenwerk.dft.after.band_gap import BandGap
from eigenwerk.dft.after.band_structure import BandStructure
from eigenwerk.dft.after.density_of_states import Counting, counting, density_of_states, energy_grid
from eigenwerk.dft.after.fixed_potential import PointBands
from eigenwerk.dft.after.projections import Projections
from eigenwerk.dft.crystal.tetrahedra import TETRAHEDRA
from eigenwerk.dft.filling.occupations import make_smearing, occupations_at
from eigenwerk.dft.inputs.inputs import Inputs
from eigenwerk.dft.scf.state import State
from eigenwerk.dft.settings.projection import kinds_of_l
from eigenwerk.io.quantity import Quantity
from eigenwerk.io.vasp.output.record import DensityOfStates, ProjectionRecord
from eigenwerk.io.vasp.output.weights.projections import BY_L, L_COLUMNS, by_l, columns
from eigenwerk.units import BOHR_ANGSTROM, HARTREE_EV


@dataclass(frozen=True, eq=False)
class SphereCharges:
    """Electrons in the spheres about the atoms, by angular momentum.

    radius_a: of the spheres, Angstrom; electrons_al: (a, l), l = s, p, d, f; moment_al: Bohr magnetons, None without
    spin; between: electrons that are in none of them (negative if spheres that overlap count too many).
    """

    radius_a: np.ndarray
    electrons_al: np.ndarray
    moment_al: np.ndarray | None
    between: float

    @staticmethod
    def of(charge_xal: np.ndarray | None, projections: ProjectionRecord | None, state: State) -> "SphereCharges | None":
        """Of a state, if there are projections."""
        if charge_xal is None or projections is None:
            return None
        return SphereCharges(
            projections.radius_a, charge_xal[0], charge_xal[1] if len(charge_xal) == 2 else None,
            float(state.filling_skn.sum()) - float(charge_xal[0].sum()),
        )  # fmt: skip


def _gap_in_document(gap: BandGap, _: float) -> dict[str, Any]:
    return asdict(gap) | {"direct": gap.is_direct, "kind": gap.kind}


def _spheres_in_document(charges: SphereCharges, _: float) -> dict[str, Any]:
    return {
        "radius_A": charges.radius_a.tolist(), "columns": list(L_COLUMNS),
        "electrons": charges.electrons_al.tolist(),
        "moment_muB": None if charges.moment_al is None else charges.moment_al.tolist(),
        "electrons_between": charges.between,
    }  # fmt: skip


def _bands_in_document(bands: BandStructure, _: float) -> dict[str, Any]:
    return bands.as_dict()


GAP = Quantity("gap", "eV", entries={"gap_eV": _gap_in_document})
SPHERES = Quantity("spheres", "e", entries={"spheres": _spheres_in_document})
BANDS = Quantity("bands", "eV", entries={"bands": _bands_in_document})


def fermi_levels(state: State) -> list[float]:
    """Of each spin, eV."""
    return [level * HARTREE_EV for level in state.occupations.fermi_level_s]


def levels(state: State, bands: PointBands) -> tuple[np.ndarray, np.ndarray]:
    """Bands at other k-points in eV, and their occupations at the Fermi level of a state, 0 to 1."""
    parameters, filled = state.system.parameters, state.occupations
    # tetrahedra say nothing about other points than their corners
    sharp = parameters.ismear in TETRAHEDRA
    smearing = None if sharp else make_smearing(parameters.ismear, parameters.fixed_occupations)
    occ_skn = occupations_at(bands.eig_skn, filled.fermi_level_s, smearing, parameters.width)
    return bands.eig_skn.numpy() * HARTREE_EV, occ_skn.numpy()


def charges_of(projections: Projections | None, state: State) -> np.ndarray | None:
    """Electrons in the spheres by l, and with spin the magnetisation; (x, a, l)."""
    if projections is None:
        return None
    return state.output.spin.separated(torch.as_tensor(by_l(projections.occupied_saL.numpy()))).numpy()


def projection_record(inputs: Inputs, projections: Projections | None) -> ProjectionRecord | None:
    """Weights in the columns that LORBIT asks for; None without, and on ranks that do not have them."""
    if projections is None or projections.weight_sknaL is None:
        return None
    phase_sknaL = projections.phase_sknaL
    return ProjectionRecord(
        _columns(inputs), _in_columns(inputs, projections.weight_sknaL),
        np.array([projections.radius[symbol] for symbol in inputs.structure.symbols]) * BOHR_ANGSTROM,
        None if phase_sknaL is None else phase_sknaL.numpy()[..., : kinds_of_l(inputs.data) ** 2],
    )  # fmt: skip


def _columns(inputs: Inputs) -> tuple[str, ...]:
    return columns(inputs.setting("LORBIT"), kinds_of_l(inputs.data))  # type: ignore[arg-type]


def _in_columns(inputs: Inputs, value_sknaL: torch.Tensor) -> np.ndarray:
    kept_sknaL = value_sknaL.numpy()[..., : kinds_of_l(inputs.data) ** 2]
    return by_l(kept_sknaL) if inputs.setting("LORBIT") in BY_L else kept_sknaL


def dos_of(inputs: Inputs, eig_skn: np.ndarray, projections: Projections | None) -> DensityOfStates:
    """The density of states in eV, by the method of the occupations (`dos_counting`), and its parts on atoms.

    Operations that exchange the spins make one channel at a point of the mesh from the other channel at another one.
    """
    width, method = inputs.parameters.width * HARTREE_EV, dos_counting(inputs)
    points, lowest, highest = (inputs.setting(tag) for tag in ("NEDOS", "EMIN", "EMAX"))
    energy_x = energy_grid(eig_skn, width, points, lowest, highest)  # type: ignore[arg-type]
    total_sx, integrated_sx = density_of_states(method, eig_skn, energy_x)
    if len(eig_skn) == 2 and inputs.kpoints.symmetry.spin_flip_o.any():
        total_sx, integrated_sx = ((x_sx + x_sx[::-1]) / 2 for x_sx in (total_sx, integrated_sx))
    if projections is None or projections.average_sknaL is None:
        return DensityOfStates(energy_x, total_sx, integrated_sx)
    average_sknaL = _in_columns(inputs, projections.average_sknaL)
    partial_sxaL = density_of_states(method, eig_skn, energy_x, average_sknaL)[0]
    if projections.crossed_sknaL is not None:
        crossed_sknaL = _in_columns(inputs, projections.crossed_sknaL)
        partial_sxaL += density_of_states(method, eig_skn, energy_x, crossed_sknaL)[0][::-1]
    return DensityOfStates(energy_x, total_sx, integrated_sx, partial_sxaL, _columns(inputs))


def dos_counting(inputs: Inputs) -> Counting:
    """How much of each state lies below an energy (eV), as the occupations of a run have it."""
    parameters, kpoints = inputs.parameters, inputs.kpoints
    smearing = make_smearing(parameters.ismear, parameters.fixed_occupations, kpoints.tetrahedra)
    return counting(smearing, parameters.width * HARTREE_EV, kpoints.weight_k)
