"""What `eigenwerk check` knows about a folder, as plain values: the JSON document, from which the text is made as well.

Lengths in Å, energies in eV, memory in bytes; atoms are counted from 1.
"""

from dataclasses import asdict
from typing import Any

import numpy as np

from eigenwerk import __version__
from eigenwerk.cli.checking.output_sizes import output_sizes
from eigenwerk.cli.moving.words import motion_rows, points
from eigenwerk.dft.crystal.kpoints import KPoints
from eigenwerk.dft.crystal.structure import Structure, shortest_distance
from eigenwerk.dft.crystal.symmetry import Symmetry
from eigenwerk.dft.filling.default_bands import fewest_bands
from eigenwerk.dft.inputs.inputs import Inputs
from eigenwerk.dft.plan.memory import MemoryEstimate
from eigenwerk.dft.settings.dataset import DataSet
from eigenwerk.dft.settings.declared import setting_rows
from eigenwerk.dft.settings.parameters import Parameters, method_title
from eigenwerk.errors import InputError
from eigenwerk.io.vasp.elements import formula
from eigenwerk.io.vasp.problem import SEVERITIES, Problem
from eigenwerk.parallel.memory.main_memory import installed_memory
from eigenwerk.units import BOHR_ANGSTROM, HARTREE_EV

Document = dict[str, Any]

LARGEST_PAIR_SEARCH = 2000
"""The shortest distance is not sought among more atoms."""


def document(inputs: Inputs) -> Document:
    """Everything known; parts that the input does not allow are None."""
    found = inputs.parts
    motion, unmovable = _motion(inputs)
    problems = [*inputs.problems, *unmovable, *memory_problems(found.memory)]
    return {
        "eigenwerk": __version__,
        "folder": str(inputs.folder),
        "title": _title(inputs),
        "formula": found.poscar and formula(found.poscar.symbols),
        "ok": not inputs.errors and not unmovable,
        "problems": problem_list(problems),
        "settings": [asdict(setting) | {"text": setting.text} for setting in inputs.settings],
        "restart": {"from": inputs.restart, "file": inputs.restart_file and str(inputs.restart_file)},
        "structure": found.structure and _structure(found.structure, inputs),
        "symmetry": found.symmetry and _symmetry(found.symmetry, found.kpoints),
        "kpoints": found.kpoints and _kpoints(found.kpoints),
        "motion": motion,
        "fixed_density": inputs.fixed_density,
        "band_lists": band_lists(inputs),
        "electrons": found.parameters and _electrons(found.parameters, inputs),
        "bands": found.parameters and _bands(found.parameters),
        "grids": found.grids and {"wave": list(found.grids.wave), "density": list(found.grids.fine)},
        "plane_waves": found.waves and asdict(found.waves),
        "datasets": [_dataset(data) for data in inputs.data.values()],
        "memory": found.memory and _memory(found.memory),
        "files": None if unmovable else output_sizes(inputs),
    }


def _motion(inputs: Inputs) -> tuple[Document | None, list[Problem]]:
    """What moves, in words, with its number of ionic steps; or why it cannot."""
    found = inputs.parts
    if inputs.errors or found.motion is None:
        return None, []
    try:
        rows = [text for label, text in motion_rows(inputs) if label == "motion"]
        return {"kind": found.motion.kind, "ionic_steps": points(inputs), "words": rows}, []
    except InputError as error:
        return None, [Problem("error", "INCAR", None, str(error))]


def problem_list(problems: list[Problem]) -> list[Document]:
    """Errors, then warnings, then notes, each kind in the order of discovery."""
    ordered = sorted(problems, key=lambda problem: SEVERITIES.index(problem.severity))
    return [asdict(problem) | {"text": str(problem)} for problem in ordered]


def band_lists(inputs: Inputs) -> list[Document]:
    """Lists of k-points whose bands come besides: in words, and how many points."""
    lists = () if inputs.parts.requested is None else inputs.parts.requested.lists
    return [{"source": kpoints.source, "points": len(kpoints.point_kc)} for kpoints in lists]


def memory_problems(memory: MemoryEstimate | None) -> list[Problem]:
    """A warning when the estimate is more than this machine has."""
    available = installed_memory()
    if memory is None or available is None or memory.total <= available:
        return []
    message = f"about {memory.total / 1e9:.1f} GB of memory are needed, this machine has {available / 1e9:.1f} GB"
    remedy = "Lower ENCUT, NBANDS or the number of k-points, or use a larger machine."
    return [Problem("warning", "INCAR", None, message, remedy=remedy)]


def _title(inputs: Inputs) -> object:
    """SYSTEM of INCAR, or what POSCAR says."""
    poscar = inputs.parts.poscar
    if poscar is None or "SYSTEM" in inputs.incar.values:
        return inputs.setting("SYSTEM")
    return poscar.title.strip()


def _structure(structure: Structure, inputs: Inputs) -> Document:
    lengths = np.linalg.norm(structure.lattice_cv, axis=1)
    unit_cv = structure.lattice_cv / lengths[:, None]
    cosines = [unit_cv[1] @ unit_cv[2], unit_cv[0] @ unit_cv[2], unit_cv[0] @ unit_cv[1]]
    return {
        "title": inputs.poscar.title,
        "lattice": (structure.lattice_cv * BOHR_ANGSTROM).tolist(),
        "lengths": (lengths * BOHR_ANGSTROM).tolist(),
        "angles": np.degrees(np.arccos(np.clip(cosines, -1.0, 1.0))).tolist(),
        "volume": structure.volume * BOHR_ANGSTROM**3,
        "atoms": len(structure.symbols),
        "species": {symbol: structure.symbols.count(symbol) for symbol in structure.species},
        "symbols": list(structure.symbols),
        "positions": structure.scaled_ac.tolist(),
        "shortest_distance": _shortest(structure),
    }


def _shortest(structure: Structure) -> Document | None:
    if len(structure.symbols) > LARGEST_PAIR_SEARCH:
        return None
    i, j, distance = shortest_distance(structure)
    return {"atoms": [i + 1, j + 1], "distance": distance * BOHR_ANGSTROM}


def _symmetry(symmetry: Symmetry, kpoints: KPoints | None) -> Document:
    return {
        "spacegroup": symmetry.spacegroup,
        "point_group": symmetry.point_group,
        "operations": symmetry.order,
        "used_operations": symmetry.order,
        "mesh_operations": symmetry.order if kpoints is None else kpoints.kept_operations,
        "spin_flips": int(symmetry.spin_flip_o.sum()),
        "time_reversal": symmetry.time_reversal,
    }


def _kpoints(kpoints: KPoints) -> Document:
    return {
        "source": kpoints.source,
        "mesh": kpoints.mesh and list(kpoints.mesh),
        "shift": list(kpoints.shift),
        "full": kpoints.full_count,
        "irreducible": len(kpoints.point_kc),
        "points": kpoints.point_kc.tolist(),
        "weights": kpoints.weight_k.tolist(),
    }


def _electrons(parameters: Parameters, inputs: Inputs) -> Document:
    structure = inputs.structure
    valence = sum(inputs.data[symbol].header.valence for symbol in structure.symbols)
    return {
        "count": parameters.electrons,
        "valence": valence,
        "charge": valence - parameters.electrons,
        "spins": parameters.spins,
        "starting_moment": None if structure.magmom_a is None else float(structure.magmom_a.sum()),
        "fixed_moment": parameters.fixed_moment,
        "functional": method_title(parameters),
        "words": [list(row) for row in setting_rows(parameters)],
        "smearing": parameters.ismear,
        "width": parameters.width * HARTREE_EV,
    }


def _bands(parameters: Parameters) -> Document:
    needed = fewest_bands(parameters.electrons, parameters.fixed_moment or 0.0)
    return {"count": parameters.bands, "needed": needed}


def _dataset(data: DataSet) -> Document:
    header, advice = data.header, data.advice
    return {
        "element": data.symbol,
        "name": header.name,
        "variant": header.variant,
        "file": str(data.path),
        "functional": header.functional,
        "valence": header.valence,
        "projectors": header.n_projectors,
        "md5": header.md5,
        "sha256": header.sha256,
        "minimum_cutoff": advice and advice.minimum_eV,
        "recommended_cutoff": advice and advice.recommended_eV,
        "cutoffs_from": advice and advice.source,
    }


def _memory(memory: MemoryEstimate) -> Document:
    return {
        "total": memory.total,
        "machine": installed_memory(),
        "items": {item.name: item.bytes for item in memory.items},
    }
