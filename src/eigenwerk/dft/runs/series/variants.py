"""A folder with other tags, k-points or another volume, without a folder of its own (no torch here)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from eigenwerk.dft.inputs.inputs import Inputs, read_inputs
from eigenwerk.dft.inputs.texts import InputTexts
from eigenwerk.errors import InputError
from eigenwerk.io.vasp.input.incar import Incar
from eigenwerk.io.vasp.input.poscar import format_poscar

ALWAYS = {"ISTART": "0", "ICHARG": "2", "ISIF": "2", "NSW": "0", "LWAVE": ".FALSE.", "LCHARG": ".FALSE."}
"""From atoms and not from what lies in the folder, with stress and ions that stay, without what only files hold."""

LEFT_OUT = {"LORBIT", "LAECHG", "LVTOT", "LVHAR", "LELF", "LPARD", "NEDOS"}
"""Tags that only ask for files."""


def require_series(inputs: Inputs) -> None:
    """Raise InputError for a folder of which there is no series."""
    inputs.raise_on_errors()
    refuse_path(inputs, "a series is computed of one structure")
    if inputs.fixed_density:
        raise InputError(
            f"{inputs.folder}: INCAR keeps the density (ICHARG = {inputs.setting('ICHARG')}), and the energy of a "
            "density that is kept does not follow a change. Remove ICHARG."
        )


def refuse_path(inputs: Inputs, reason: str) -> None:
    """Raise InputError, with the reason, for a folder whose IMAGES make it a path between two structures."""
    if inputs.images:
        remedy = "`eigenwerk run` computes paths; for one structure make a folder with its POSCAR, without IMAGES."
        raise InputError(str(inputs.incar.problem("IMAGES", f"the folder is that of a path, and {reason}", remedy)))


def variant(inputs: Inputs, tags: Mapping[str, object], kpoints: str | None = None, scale: float = 1.0) -> Inputs:
    """The folder with these tags of INCAR, lengths times `scale`, and KPOINTS with this text if there is one.

    A tag with the value None is left out.  The problems of the result are those of the changed folder.
    """
    changed = {**ALWAYS, **dict.fromkeys(LEFT_OUT), **tags}
    text = dict(inputs.texts.text)
    text.pop("KPOINTS_OPT", None)
    text["INCAR"] = incar_with(inputs.incar, changed)
    if scale != 1.0:
        text["POSCAR"] = format_poscar(replace(inputs.poscar, lattice_cv=scale * inputs.poscar.lattice_cv))
    if kpoints is not None:
        text["KPOINTS"] = kpoints
    return read_inputs(inputs.folder, texts=InputTexts(text, {}, inputs.texts.species))


def incar_with(incar: Incar, changed: Mapping[str, object]) -> str:
    """An INCAR with these tags beside, or in place of, those that it has; a tag with the value None is left out."""
    kept = {name: _quoted(text) for name, text in incar.raw.items() if name not in changed}
    given = {name: str(value) for name, value in changed.items() if value is not None}
    return "".join(f"{name} = {value}\n" for name, value in {**kept, **given}.items())


def fixed_points(inputs: Inputs) -> str:
    """KPOINTS with the same points in reciprocal lattice vectors for cells of any size.

    KSPACING and lengths would choose other meshes, and Cartesian points mean others.
    """
    file, mesh = inputs.kpoints_file, inputs.kpoints.mesh
    if file is None or file.kind == "auto":
        assert mesh is not None, "these make meshes"
        return mesh_text(mesh, file is not None or bool(inputs.setting("KGAMMA")))
    if not file.cartesian:
        return inputs.texts.of("KPOINTS")
    if file.kind != "list" or file.tetrahedra is not None or file.weights_k is None:
        raise InputError(
            "KPOINTS line 3: Cartesian points would not stay the same in cells of other volumes. "
            "Write them in reciprocal coordinates."
        )
    point_kc = file.reciprocal(inputs.poscar.lattice_cv, inputs.poscar.scale)
    rows = [" ".join(map(repr, row)) for row in np.column_stack([point_kc, file.weights_k]).tolist()]
    return "\n".join(["points", str(len(rows)), "Reciprocal", *rows]) + "\n"


def mesh_text(mesh: Sequence[int], gamma_centred: bool, shift: Sequence[float] = (0.0, 0.0, 0.0)) -> str:
    """KPOINTS of a mesh."""
    kind = "Gamma" if gamma_centred else "Monkhorst-Pack"
    return f"mesh\n0\n{kind}\n{' '.join(map(str, mesh))}\n{' '.join(map(repr, shift))}\n"


def sharp_enough(inputs: Inputs, tolerance: float) -> dict[str, object]:
    """EDIFF, eV, no larger than asked for."""
    given = inputs.setting("EDIFF")
    return {"EDIFF": repr(min(abs(float(str(given))), tolerance))}


def _quoted(text: str) -> str:
    return f'"{text}"' if "\n" in text else text
