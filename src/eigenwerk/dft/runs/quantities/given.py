"""What the files of a run say of its input: species, k-points, tags."""

from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from gpaw_data import datapath  # type: ignore[import-untyped]

from eigenwerk.dft.crystal.kpoints import KPoints
from eigenwerk.dft.inputs.inputs import Inputs
from eigenwerk.dft.inputs.steps.motion import masses
from eigenwerk.functionals.functional import SIGMA
from eigenwerk.functionals.table import find_functional
from eigenwerk.io.paw.dataset import PawDataset
from eigenwerk.io.vasp.output.record import KpointGeneration, SpeciesRecord, TetrahedraRecord, dataset_title
from eigenwerk.io.vasp.tags.base import show
from eigenwerk.units import HARTREE_EV


def species_of(inputs: Inputs, datasets: Mapping[str, PawDataset]) -> Iterator[SpeciesRecord]:
    """With the masses that atoms move with, or would."""
    first, mass_a = 0, masses(inputs.incar, inputs.poscar)
    for run in inputs.poscar.species_runs:
        yield _species(run, datasets, float(mass_a[first]))
        first += run[1]


def _species(run: tuple[str, int], datasets: Mapping[str, PawDataset], mass: float) -> SpeciesRecord:
    symbol, count = run
    data = datasets[symbol]
    package = package_of(Path(data.file))
    title = dataset_title(data.xc_type.upper() != "LDA", symbol, package, data.name, f"md5:{data.md5}")
    return SpeciesRecord(count, symbol, mass, data.valence, title)


def package_of(file: Path) -> str:
    """Name and version of the package a data set comes from; 'own-file' for one of the user's."""
    inside = file.resolve().is_relative_to(Path(datapath()).resolve())
    return f"gpaw-data {version('gpaw-data')}" if inside else "own-file"


def tetrahedra_of(inputs: Inputs) -> TetrahedraRecord | None:
    """As whole numbers of tetrahedra of one volume: six in each cell of a mesh, or as the KPOINTS file lists them; of
    those that operations have turned, a fraction of that volume."""
    kpoints, file = inputs.kpoints, inputs.kpoints_file
    if kpoints.tetrahedra is None:
        return None
    listed = file is not None and file.tetrahedra is not None
    total = int(file.tetrahedra[:, 0].sum()) if listed else 6 * kpoints.full_count  # type: ignore[union-attr, index]
    share_T = kpoints.tetrahedra.weight_T * total
    # at most 96 rotations and reversals have turned them
    parts = next((n for n in range(1, 97) if np.abs(n * share_T - np.rint(n * share_T)).max() < 1e-6), 1)
    rows_Tx = np.column_stack([np.rint(parts * share_T).astype(int), kpoints.tetrahedra.corner_Tc + 1])
    return TetrahedraRecord(rows_Tx, 1 / (parts * total))


def generation_of(kpoints: KPoints) -> KpointGeneration | None:
    """How a path or a mesh was asked for; None for a list."""
    if kpoints.line_k is not None:
        per_line = int((kpoints.line_k == 0).sum())
        end_kc = np.concatenate([kpoints.point_kc[::per_line], kpoints.point_kc[-1:]])
        return KpointGeneration("listgenerated", per_line=per_line, end_kc=end_kc)
    if kpoints.mesh is None:
        return None
    kind = "Monkhorst-Pack" if kpoints.source.startswith("Monkhorst-Pack") else "Gamma"
    return KpointGeneration(kind, kpoints.mesh, kpoints.shift)


def incar_tags(inputs: Inputs) -> dict[str, Any]:
    """The tags as the user set them, in forms that files can hold."""
    return {tag: _plain(value) for tag, value in inputs.incar.values.items()}


def tags_in_force(inputs: Inputs) -> dict[str, Any]:
    """All tags with the values that acted; what the engine was given wins over what was written."""
    parameters = inputs.parameters
    tags = {setting.tag: _plain(setting.value) for setting in inputs.settings if setting.value is not None}
    tags |= {
        "ENCUT": parameters.cutoff * HARTREE_EV, "NBANDS": parameters.bands, "NELECT": parameters.electrons,
        "ISPIN": parameters.spins, "NELM": parameters.max_steps, "PREC": parameters.precision,
        "EDIFF": parameters.energy_tolerance * HARTREE_EV, "ISMEAR": parameters.ismear,
        "SIGMA": parameters.width * HARTREE_EV,
    }  # fmt: skip
    if SIGMA not in find_functional(parameters.functional, parameters.hybrid).ingredients:
        tags["GGA"] = ""  # readers take any other word for a gradient functional
    return tags


def _plain(value: object) -> Any:
    """Numbers, words and flat lists as they are, everything else as it would be written in INCAR."""
    if isinstance(value, bool | int | float | str):
        return value
    flat = isinstance(value, tuple | list) and all(isinstance(entry, bool | int | float | str) for entry in value)
    return list(value) if flat and value else show(value)  # type: ignore[call-overload]
