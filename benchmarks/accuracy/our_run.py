"""One eigenwerk calculation with the input of a reference run, its results as plain numbers in eV and angstrom."""

import time
from functools import cache
from typing import Any

import numpy as np

from eigenwerk.dft.calculation import Calculation, GroundState
from eigenwerk.dft.crystal.kpoints import NO_SHIFT, KPoints, mesh_kpoints, monkhorst_pack
from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.crystal.symmetry import find_symmetry
from eigenwerk.dft.settings.parameters import Parameters
from eigenwerk.io.paw.dataset import PawDataset
from eigenwerk.io.paw.paw_library import choose_dataset
from eigenwerk.io.paw.paw_xml import read_paw_xml

HARTREE, BOHR = 27.211386024367243, 0.5291772105638411
"""eV and angstrom of the reference program (CODATA 2014): input and output are converted with the same numbers."""

FUNCTIONALS = {"PBE": ("PE", "PBE"), "LDA": ("PW92", "LDA")}
"""Functional of the reference: our tag, and the functional of the data sets."""

ENERGY_TOLERANCE_EV = 1e-8
MOST_STEPS = 150


@cache
def dataset(symbol: str, functional: str, variant: str | None) -> PawDataset:
    """The data set of an element."""
    return read_paw_xml(choose_dataset(symbol, functional, variant=variant))


def run(structure: dict[str, Any], settings: dict[str, Any]) -> dict[str, Any]:
    """Solve and return a dictionary with the keys of the reference results."""
    started = time.perf_counter()
    calculation = make_calculation(structure, settings)
    ground = calculation.run()
    return {
        **numbers(ground, calculation.kpoints), "mesh": list(settings["kpts_size"]),
        "wall_s": time.perf_counter() - started,
        "md5": {s: data.md5 for s, data in calculation.datasets.items()},
    }  # fmt: skip


def make_calculation(structure: dict[str, Any], settings: dict[str, Any]) -> Calculation:
    """What is to be solved, from the input of a reference run."""
    tag, set_name = FUNCTIONALS[settings["xc"]]
    crystal = make_structure(structure, settings)
    # "v3", ":d,4.6,0" or both: a variant, and the shell and U of a correction
    words = {symbol: text.partition(":") for symbol, text in settings.get("setups", {}).items()}
    variants = {symbol: variant or None for symbol, (variant, _, _) in words.items()}
    hubbard = {symbol: shell(correction) for symbol, (_, _, correction) in words.items() if correction}
    datasets = {s: dataset(s, set_name, variants.get(s)) for s in crystal.species}
    mesh = tuple(settings["kpts_size"])
    symmetry = find_symmetry(crystal, 1e-5 / BOHR, 2)
    kpoints = mesh_kpoints(mesh, NO_SHIFT, True, symmetry)
    parameters = Parameters(
        cutoff=settings["ecut_eV"] / HARTREE, electrons=sum(datasets[s].valence for s in crystal.symbols),
        bands=settings["nbands"], precision="Accurate", functional=tag, spins=1 if crystal.magmom_a is None else 2,
        ismear=ismear(settings["occupations"]), width=settings["occupations"]["width"] / HARTREE,
        energy_tolerance=ENERGY_TOLERANCE_EV / HARTREE, max_steps=MOST_STEPS, hubbard=hubbard,
    )  # fmt: skip
    return Calculation(crystal, kpoints, parameters, datasets)


def shell(correction: str) -> tuple[int, float]:
    """l and U in hartree of "d,4.6,0"."""
    letter, u, scaled = correction.split(",")
    if scaled != "0":
        raise ValueError(f"{correction}: scaled overlaps are not available here")
    return "spdf".index(letter), float(u) / HARTREE


def make_structure(structure: dict[str, Any], settings: dict[str, Any]) -> Structure:
    """The crystal in bohr; with moments if the reference was spin-polarised."""
    moments = structure.get("initial_magmoms")
    polarised = settings.get("spinpol") or (moments is not None and any(moments))
    return Structure(
        np.array(structure["cell_A"]) / BOHR, tuple(structure["symbols"]), np.array(structure["scaled_positions"]),
        np.array(moments) if polarised else None,
    )  # fmt: skip


def ismear(occupations: dict[str, Any]) -> int:
    """ISMEAR of the reference's smearing."""
    return -1 if occupations["name"] == "fermi-dirac" else int(occupations["order"])


def numbers(ground: GroundState, kpoints: KPoints) -> dict[str, Any]:
    """The results of a ground state."""
    state = ground.state
    energies, last = state.energies, state.history[-1]
    return {
        "converged": state.converged, "steps": len(state.history), "change_eV": last.change * HARTREE,
        "density_residual": last.residual, "events": [e for step in state.history for e in step.events],
        "free_energy_eV": energies.free * HARTREE, "energy_extrapolated_eV": energies.extrapolated * HARTREE,
        "entropy_eV": energies.entropy * HARTREE,
        "terms_eV": {name: value * HARTREE for name, value in energies.terms.items()},
        "fermi_level_eV": state.occupations.fermi_level * HARTREE,
        "eigenvalues_eV": (state.eig_skn * HARTREE).tolist(), "occupations": state.occupations.occ_skn.tolist(),
        "forces_eV_per_A": (ground.forces_av * HARTREE / BOHR).tolist(), "moment_muB": last.moment,
        "moments_muB": ground.moment_a.tolist(),
        "kpoints": kpoints.point_kc.tolist(), "full": full_mesh(kpoints),
    }  # fmt: skip


def full_mesh(kpoints: KPoints) -> dict[str, list[Any]]:
    """Every point of the whole mesh with its irreducible point and whether the operation swaps the spins."""
    assert kpoints.mesh is not None and kpoints.operation_of_full is not None
    point_kc = monkhorst_pack(kpoints.mesh, kpoints.shift, True)
    flips_k = kpoints.symmetry.spin_flip_o[kpoints.operation_of_full]
    return {"points": point_kc.tolist(), "irreducible": np.asarray(kpoints.irreducible_of_full).tolist(),
            "flips": flips_k.tolist()}  # fmt: skip
