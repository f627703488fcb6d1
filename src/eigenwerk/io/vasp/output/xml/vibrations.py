"""What finite displacements found, as files hold it; the block `dynmat` of vasprun.xml, datasets of vaspout.h5."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from eigenwerk.io.vasp.output.xml.xml_text import varray

HESSIAN = " %15.8f"
"""Column of the matrix; more digits than a sum rule of forces printed with eight needs."""

VECTOR = " %.8E"
"""Column of eigenvectors."""


@dataclass(frozen=True, eq=False)
class ElasticRecord:
    """Elastic constants, kB, (6, 6) in the order xx yy zz yz zx xy (shears counted twice).

    measured_jj, clamped_jj: clamped ions, as measured and symmetric; ionic_jj: what the ions add; total_jj: both.
    internal_strain_avj: forces by strain, (a, 3, 6), eV/Å.
    """

    measured_jj: np.ndarray
    clamped_jj: np.ndarray
    ionic_jj: np.ndarray
    total_jj: np.ndarray
    internal_strain_avj: np.ndarray


@dataclass(frozen=True, eq=False)
class VibrationRecord:
    """Modes n at Gamma, the highest first, in the arrangement of the first ionic step.

    displacement: step in Å.  free_av: (a, 3), Cartesian coordinates that move; x counts them.  constants_xx: force
    constants, eV/Å², symmetric, with the sum rule of translations; measured_xx: as the forces gave them.  masses_a:
    amu.  square_n: ω², eV/(Å² amu), negative if unstable.  thz_n: frequencies, negative if unstable.
    vector_nav: orthonormal.  elastic: or None.
    """

    displacement: float
    free_av: np.ndarray
    constants_xx: np.ndarray
    measured_xx: np.ndarray
    masses_a: np.ndarray
    square_n: np.ndarray
    thz_n: np.ndarray
    vector_nav: np.ndarray
    elastic: ElasticRecord | None = None


def dynmat(record: VibrationRecord) -> Iterator[str]:
    """-Φ/√(m m'), its eigenvalues -ω² and eigenvectors, eV/(Å² amu).

    As in VASP's file the block holds the atoms of which a coordinate is free, with zeros for those that are not.
    """
    moving_a = record.free_av.any(axis=1)
    free_x = record.free_av[moving_a].ravel()
    root_x = np.sqrt(np.repeat(record.masses_a[moving_a], 3))
    hessian_xx = np.zeros((len(root_x), len(root_x)))
    hessian_xx[np.ix_(free_x, free_x)] = -record.constants_xx
    yield "  <dynmat>\n"
    yield varray("hessian", hessian_xx / np.outer(root_x, root_x), HESSIAN, 3)
    yield f'   <v name="eigenvalues">{"".join(f" {-square:.8E}" for square in record.square_n)} </v>\n'
    yield varray("eigenvectors", record.vector_nav[:, moving_a].reshape(len(record.square_n), -1), VECTOR, 3)
    yield "  </dynmat>\n"


def linear_response(record: VibrationRecord | None) -> dict[str, np.ndarray]:
    """What vaspout.h5 has of them: -Φ of the free coordinates (eV/Å²), elastic constants (kB) and forces by strain
    (eV/Å) with two axes for each strain."""
    if record is None:
        return {}
    found = {"force_constants": -record.constants_xx}
    if record.elastic is not None:
        place_vw = np.array([[0, 5, 4], [5, 1, 3], [4, 3, 2]])
        for name, matrix_jj in (("clamped", record.elastic.clamped_jj), ("relaxed", record.elastic.total_jj)):
            found[f"{name}_ion_elastic_modulus"] = matrix_jj[place_vw][:, :, place_vw]
        found["internal_strain"] = record.elastic.internal_strain_avj[:, :, place_vw]
    return found
