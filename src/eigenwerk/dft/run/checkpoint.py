"""A State as a tree for eigenwerk.h5, and a start of the next calculation from such a file.

What is saved does not depend on FFT grids, device or padding: density and orbitals are lists of plane waves with their
integer indices g and G.  So a later run may have another cutoff, cell, precision or number of bands: what both
spheres have in common is copied, the rest starts at zero.  Layout: docs/formats/eigenwerk_h5.md.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from eigenwerk.dft.basis.gathering import WholeOrbitals
from eigenwerk.dft.basis.plane_wave_basis import PlaneWaveBasis
from eigenwerk.dft.basis.wave_form import partners
from eigenwerk.dft.calculation import Calculation
from eigenwerk.dft.crystal.inversion import turns
from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.density import Density, electrons_of
from eigenwerk.dft.scf.state import ScfStep, State
from eigenwerk.dft.wavefunctions import random_orbitals
from eigenwerk.errors import InputError
from eigenwerk.io.hdf5_state import read_state
from eigenwerk.units import BOHR_ANGSTROM

GROUPS = ("structure", "kpoints", "density", "occupancy", "bands", "setups", "status")
"""What a start needs of a state."""

REAL = 1e-8
"""Largest difference between c(-q) and c(q)*, or imaginary part, of orbitals that count as real."""

SAME_POINT = 1e-8
"""Largest difference of fractional coordinates of one and the same k-point."""

_REMEDY = "Remove the file, or set ISTART = 0 and ICHARG = 2 to start from atoms."


@dataclass(frozen=True)
class StartingPoint:
    """Where a calculation begins: a density, orbitals (s, k, n, G) or None, and notes on how they were obtained."""

    density: Density
    coeff_sknG: torch.Tensor | None
    notes: tuple[str, ...] = ()


# -- State -> tree -----------------------------------------------------------------------------------------------------


def state_tree(calculation: Calculation, state: State, orbitals: WholeOrbitals | None) -> dict[str, Any]:
    """Everything a State consists of, as nested mappings of numpy arrays and plain values; hartree and bohr.

    orbitals: those of the state from all ranks; None leaves out by far the largest part (LWAVE = .FALSE.).
    """
    basis = calculation.basis
    bands: dict[str, Any] = {
        "eig_skn": _array(state.eig_skn),
        "occ_skn": _array(state.occupations.occ_skn),
        "fermi_level_s": state.occupations.fermi_level_s,
    }
    if orbitals is not None:
        bands |= {"count_k": orbitals.count_k, "index_kGc": orbitals.index_kGc, "coeff_sknG": orbitals.coeff_sknG}
    return {
        "structure": structure_tree(calculation.structure),
        "parameters": asdict(calculation.parameters),
        "kpoints": {"point_kc": calculation.kpoints.point_kc, "weight_k": calculation.kpoints.weight_k},
        "basis": {"cutoff": basis.cutoff, "wave_grid": basis.grids.wave, "fine_grid": basis.grids.fine},
        "density": {
            "index_gc": _array(basis.index_gc[: basis.density_count]).astype(np.int32),
            "density_sg": _array(state.density.density_sg),
        },
        "occupancy": {
            "projectors_a": calculation.atoms.layout.projectors_a,
            "occupancy_sx": _array(state.density.occupancy_sx),
        },
        "bands": bands,
        "energies": asdict(state.energies),
        "history": history_tree(state.history),
        "status": {"converged": state.converged, "words": state.status, "events": state.events},
        "setups": {symbol: setup_tree(calculation, symbol) for symbol in calculation.structure.species},
    }


def history_tree(history: tuple[ScfStep, ...]) -> dict[str, Any]:
    """The steps as columns, one entry per step; energies in hartree; moment is None without spin."""
    names = ("step", "change", "band_change", "residual", "orbital_residual", "applications", "seconds")
    columns: dict[str, Any] = {name: np.array([getattr(step, name) for step in history]) for name in names}
    columns |= {
        name: np.array([getattr(step.energies, name) for step in history])
        for name in ("free", "internal", "extrapolated", "band", "entropy")
    }
    polarised = history[0].moment is not None
    columns["moment"] = np.array([step.moment for step in history]) if polarised else None
    columns["events"] = [f"step {step.step}: {event}" for step in history for event in step.events]
    return columns


def structure_tree(structure: Structure) -> dict[str, Any]:
    """Cell (bohr), symbols, fractional positions, starting moments."""
    return {
        "lattice_cv": structure.lattice_cv, "symbols": structure.symbols, "scaled_ac": structure.scaled_ac,
        "magmom_a": structure.magmom_a,
    }  # fmt: skip


def setup_tree(calculation: Calculation, symbol: str) -> dict[str, Any]:
    """Which data set: name, file, functional, checksums."""
    header = calculation.datasets[symbol]
    return {
        "name": header.name, "file": header.file, "functional": header.functional, "md5": header.md5,
        "sha256": header.sha256, "valence": header.valence,
    }  # fmt: skip


def _array(tensor: torch.Tensor) -> np.ndarray:
    return tensor.detach().cpu().numpy()


# -- tree -> StartingPoint -------------------------------------------------------------------------------------------


def load_start(path: str | Path, calculation: Calculation, orbitals: bool = True) -> StartingPoint:
    """Density, and orbitals if wanted and usable, of an earlier run for a new calculation.

    The density n(g) is copied plane wave by plane wave, scaled by V_old/V_new so that its charge is kept in another
    cell, then scaled with the occupancies to the wanted number of electrons.  From one spin channel to two the
    magnetisation is that of superposed atoms; from two to one the channels are added.  Orbitals are taken if the
    k-points are the same: bands too many are cut off, missing ones start from fixed random numbers.

    Raises InputError if the file is missing or damaged, or holds other atoms or other PAW data.
    """
    tree = read_state(path, only=GROUPS)
    if set(GROUPS) - set(tree):
        raise InputError(f"{path}: this state is no ground state of a crystal. {_REMEDY}")
    _require_same_atoms(path, tree, calculation)
    notes = _differences(tree, calculation)
    density = _density(tree, calculation)
    if not orbitals:
        return StartingPoint(density, None, tuple(notes))
    reason = _no_orbitals(tree["bands"], tree["kpoints"], calculation)
    if reason:
        return StartingPoint(density, None, (*notes, f"{reason}: density only"))
    return StartingPoint(density, _orbitals(tree["bands"], calculation), tuple(notes))


def _require_same_atoms(path: str | Path, tree: Mapping[str, Any], calculation: Calculation) -> None:
    stored, wanted = tuple(tree["structure"]["symbols"]), calculation.structure.symbols
    if stored != wanted:
        raise InputError(
            f"{path}: a start for the {len(stored)} atoms {_shortened(stored)}, but POSCAR has the {len(wanted)} atoms "
            f"{_shortened(wanted)} (the order counts). {_REMEDY}"
        )
    for symbol in calculation.structure.species:
        old, new = tree["setups"][symbol], calculation.datasets[symbol]
        if old["md5"] != new.md5:
            raise InputError(
                f"{path}: made with the PAW data {old['name']} (md5 {old['md5'][:8]}) for {symbol}, now {new.name} "
                f"(md5 {new.md5[:8]}) is to be used; occupancies of one mean nothing for the other. {_REMEDY}"
            )


def _shortened(symbols: tuple[str, ...]) -> str:
    return " ".join(symbols) if len(symbols) <= 12 else " ".join(symbols[:12]) + " …"


def _differences(tree: Mapping[str, Any], calculation: Calculation) -> list[str]:
    """What the user should know about the earlier run, in words."""
    old, new, notes = tree["structure"], calculation.structure, []
    if not tree["status"]["converged"]:
        notes.append(f"the earlier run had not converged ({tree['status']['words']})")
    if not np.allclose(old["lattice_cv"], new.lattice_cv, rtol=0, atol=1e-8):
        notes.append("the cell has changed")
    moved_ac = old["scaled_ac"] - new.scaled_ac
    moved = np.linalg.norm((moved_ac - np.round(moved_ac)) @ new.lattice_cv, axis=1).max() * BOHR_ANGSTROM
    if moved > 1e-6:
        notes.append(f"atoms have moved by up to {moved:.3f} Å")
    spins = len(tree["density"]["density_sg"])
    if spins != calculation.parameters.spins:
        notes.append(f"ISPIN was {spins}, now it is {calculation.parameters.spins}")
    return notes


def _density(tree: Mapping[str, Any], calculation: Calculation) -> Density:
    basis, runtime, atoms = calculation.basis, calculation.runtime, calculation.atoms
    index_gc = _array(basis.index_gc[: basis.density_count])
    here_g, there_g = common_points(index_gc, tree["density"]["index_gc"])
    stored_sg = tree["density"]["density_sg"]
    density_sg = np.zeros((len(stored_sg), len(index_gc)), dtype=stored_sg.dtype)
    volume_ratio = abs(np.linalg.det(tree["structure"]["lattice_cv"])) / float(basis.volume)
    density_sg[:, here_g] = stored_sg[:, there_g] * volume_ratio
    density = Density.of(
        runtime.tensor(density_sg, runtime.complex), runtime.tensor(tree["occupancy"]["occupancy_sx"])
    )
    density = _with_spins(density, calculation)
    # scaled to the number of electrons, which mixing keeps from here on
    return density.times(calculation.parameters.electrons / electrons_of(density, atoms).sum())


def common_points(here_xc: np.ndarray, there_xc: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Positions in both lists of the integer triples they have in common; each list holds a triple once."""
    reach_c = np.maximum(np.abs(here_xc).max(axis=0), np.abs(there_xc).max(axis=0)).astype(np.int64)
    size_c = tuple(2 * reach_c + 1)
    here, there = (np.ravel_multi_index(tuple((index_xc + reach_c).T), size_c) for index_xc in (here_xc, there_xc))
    _, here_x, there_x = np.intersect1d(here, there, assume_unique=True, return_indices=True)
    return here_x, there_x


def _with_spins(density: Density, calculation: Calculation) -> Density:
    """The density with the wanted number of spin channels."""
    spin = calculation.basis.spin
    if density.spin == spin:
        return density
    if not spin.polarised:
        return density.map(lambda value_sx: value_sx.sum(0, keepdim=True))

    def polarised(total_1x: torch.Tensor, atomic_sx: torch.Tensor) -> torch.Tensor:
        return spin.channels_of(torch.stack([total_1x[0], spin.magnetisation(atomic_sx)]))

    return density.map(polarised, calculation.starting_density())


def _no_orbitals(bands: Mapping[str, Any], kpoints: Mapping[str, Any], calculation: Calculation) -> str:
    """Why the stored orbitals cannot be used, '' if they can."""
    if "coeff_sknG" not in bands:
        return "the file holds no orbitals"
    stored_kc, point_kc = kpoints["point_kc"], calculation.kpoints.point_kc
    if stored_kc.shape != point_kc.shape or np.abs(stored_kc - point_kc).max() > SAME_POINT:
        return f"the k-points differ (there were {len(stored_kc)}, now {len(point_kc)})"
    if calculation.basis.form.real and not _are_real(bands, calculation.basis):
        return "the orbitals of the file are complex, those of this run real"
    return ""


def _are_real(bands: Mapping[str, Any], basis: PlaneWaveBasis) -> bool:
    """Whether stored orbitals are real as the basis asks: in space, c(-q) = c(q)*, or by its inversion."""
    for k, (count, point_c) in enumerate(zip(bands["count_k"], basis.kpoints.point_kc, strict=True)):
        index_Gc, coeff_xG = bands["index_kGc"][k, :count], bands["coeff_sknG"][:, k, :, :count]
        if basis.inversion is not None:
            wrong_xG = (coeff_xG * turns(index_Gc + point_c, basis.inversion.translation_c / 2)).imag
        else:
            here_G, there_G = common_points(index_Gc, partners(index_Gc, point_c))
            if len(here_G) < count:
                return False
            wrong_xG = coeff_xG[..., here_G] - coeff_xG[..., there_G].conj()
        if np.abs(wrong_xG).max() > REAL:
            return False
    return True


def _orbitals(bands: Mapping[str, Any], calculation: Calculation) -> torch.Tensor:
    """Stored orbitals on the plane waves, bands and spins of this calculation; (s, k, n, G)."""
    basis, runtime, parameters = calculation.basis, calculation.runtime, calculation.parameters
    stored_sknG, index_khc = bands["coeff_sknG"][:, basis.own_k], _array(basis.index_khc)
    stored_kGc, there_k = bands["index_kGc"][basis.own_k], bands["count_k"][basis.own_k]
    here_k = _array(basis.mask_kh.sum(1)).astype(int)
    kept = min(parameters.bands, stored_sknG.shape[2])
    shape = (len(stored_sknG), len(index_khc), kept, index_khc.shape[1])
    stored_sknh = np.zeros(shape, dtype=stored_sknG.dtype)
    for k, (here, there) in enumerate(zip(here_k, there_k, strict=True)):
        if here:
            here_h, there_G = common_points(index_khc[k, :here], stored_kGc[k, :there])
            stored_sknh[:, k][..., here_h] = stored_sknG[:, k, :kept][..., there_G]
    coeff_sknh = runtime.tensor(stored_sknh, runtime.complex)
    result_sknG = torch.stack([basis.form.vectors(coeff_knh) for coeff_knh in coeff_sknh])
    if parameters.bands > kept:
        new_knG = random_orbitals(calculation.atoms, parameters.bands - kept)
        result_sknG = torch.cat([result_sknG, new_knG.expand(len(result_sknG), -1, -1, -1)], dim=2)
    # from two spins to one the first channel is as good as the second; from one to two both start alike
    return result_sknG[:1].expand(parameters.spins, -1, -1, -1) if shape[0] != parameters.spins else result_sknG
