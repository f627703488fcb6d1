"""Write IBZKPT: the k-points of the irreducible wedge in the form of a KPOINTS file."""

from pathlib import Path

import numpy as np

from eigenwerk.io.atomic_write import replacing
from eigenwerk.io.vasp.output.record import RunRecord


def write_ibzkpt(path: str | Path, record: RunRecord) -> None:
    """Write the k-points of a mesh; weights are numbers of points of the whole mesh.  With tetrahedra, if there are.

    Raises InputError if the file cannot be written, ValueError if the record has no mesh.
    """
    if record.generation is None or record.generation.per_line:
        raise ValueError("IBZKPT of a run without a mesh of k-points")
    of_mesh_k = record.weight_k > 0  # points without weight have been added to the mesh
    count_k = record.weight_k[of_mesh_k] * np.prod(record.generation.mesh)
    text = f"Automatically generated mesh   {record.stamp or ''}".rstrip()
    text += f"\n{len(count_k):8d}\nReciprocal lattice\n"
    for point_c, count in zip(record.kpoint_kc[of_mesh_k], count_k, strict=True):
        text += "".join(f" {value:19.14f}" for value in point_c) + f"  {_weight(count)}\n"
    if record.tetrahedra is not None:
        rows_Tx = record.tetrahedra.rows_Tx
        text += f"Tetrahedra\n{len(rows_Tx):10d}{record.tetrahedra.volume:20.14f}\n"
        text += ("%10d" * 5 + "\n") * len(rows_Tx) % tuple(rows_Tx.ravel().tolist())
    with replacing(path) as new:
        new.write_text(text, encoding="utf-8")


def _weight(count: float) -> str:
    """A number of points; a fraction stays one."""
    return f"{round(count):12d}" if abs(count - round(count)) < 1e-6 else f"{count:19.14f}"
