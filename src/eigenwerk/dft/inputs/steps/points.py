"""The k-points of a run, what is to be said of them, and their plane waves (no torch here)."""

from eigenwerk.dft.basis.grids import sphere_radius
from eigenwerk.dft.basis.plane_waves import PlaneWaveCounts, count_plane_waves
from eigenwerk.dft.crystal.downsampling import Downsampling
from eigenwerk.dft.crystal.kpoints import KPoints
from eigenwerk.dft.crystal.listed_mesh import as_mesh, as_whole_mesh
from eigenwerk.dft.crystal.structure import Structure
from eigenwerk.dft.crystal.symmetry import Symmetry
from eigenwerk.dft.inputs.checks import check_mesh, check_points_of_vibrations, check_single_point
from eigenwerk.dft.inputs.steps.bands import BandRequest
from eigenwerk.dft.inputs.steps.electrons import ListedWaves
from eigenwerk.dft.inputs.steps.exchange import check_mesh_of_exchange, check_points_of_exchange, downsampling_of
from eigenwerk.dft.inputs.steps.kpoints import kpoints_of_file, kpoints_of_spacing, self_consistent, with_tetrahedra
from eigenwerk.dft.inputs.steps.motion import MotionRequest
from eigenwerk.dft.settings.findings import Findings
from eigenwerk.dft.settings.motion_kind import VIBRATIONS
from eigenwerk.dft.settings.tags_in_force import number
from eigenwerk.functionals.hybrid import Hybrid
from eigenwerk.io.vasp.input.incar import Incar
from eigenwerk.io.vasp.input.kpoints import KpointsFile
from eigenwerk.io.vasp.input.poscar import Poscar


def points_of_run(
    incar: Incar, kpoints_file: KpointsFile | None, kpoints_broken: bool, poscar: Poscar, structure: Structure,
    symmetry: Symmetry, fixed_density: bool, hybrid: Hybrid | None, motion: MotionRequest | None, findings: Findings,
) -> tuple[KPoints | None, BandRequest | None, Downsampling | None]:  # fmt: skip
    """k-points from the file, else from KSPACING; which others are wanted besides; what exchange leaves out of them.

    After an error they are as far as they had come.
    """
    if kpoints_broken:
        return None, None, None
    kpoints, requested, downsampling, coarse = None, BandRequest(), None, False
    source, line = incar.file, incar.line_of.get("KSPACING")
    if kpoints_file is not None:
        source, line = kpoints_file.file, None
    vibrates, exact = motion is not None and motion.kind == VIBRATIONS, bool(incar.get("LHFCALC"))
    with findings.collecting(source, line):
        if kpoints_file is None:
            kpoints = kpoints_of_spacing(number(incar, "KSPACING"), bool(incar.get("KGAMMA")), structure, symmetry)
        else:
            found = kpoints_of_file(kpoints_file, poscar, structure, symmetry)
            if not fixed_density:
                found, weightless = self_consistent(found, kpoints_file, exact)
                requested = BandRequest(weightless)
            kpoints = found
        kpoints = with_tetrahedra(kpoints, structure, kpoints_file, incar, findings)
        for note in symmetry.notes:
            findings.note("POSCAR", note)
        check_mesh(kpoints, source, findings)
        if exact:
            downsampling = downsampling_of(incar, kpoints, hybrid, findings)
            # a part of the differences is one of those of the mesh that was asked for
            kpoints = (as_whole_mesh if downsampling is None else as_mesh)(kpoints)
            coarse = check_points_of_exchange(kpoints, structure.lattice_cv, hybrid, source, findings)
            check_mesh_of_exchange(kpoints, hybrid, downsampling, vibrates, source, findings)
        if vibrates:
            check_points_of_vibrations(kpoints, source, findings)
        if not coarse and not fixed_density:
            check_single_point(structure, kpoints, source, findings)
    return kpoints, requested, downsampling


def plane_waves(
    structure: Structure, kpoints: KPoints, cutoff: float, requested: BandRequest | None
) -> tuple[PlaneWaveCounts, ListedWaves]:
    """How many each point has, and each of those whose bands come besides."""
    radius, lists = sphere_radius(cutoff), () if requested is None else requested.lists
    counts = [(points, count_plane_waves(structure, radius, points.point_kc)) for points in (kpoints, *lists)]
    return counts[0][1], tuple(counts[1:])
