"""What a run uses of a machine, and the plane waves it works with, for files."""

import resource
import sys
import time
from dataclasses import fields

import numpy as np

from eigenwerk.dft.basis.grids import sphere_radius
from eigenwerk.dft.basis.plane_waves import points_in_sphere
from eigenwerk.dft.calculation import Calculation
from eigenwerk.io.vasp.output.record import BasisRecord, ResourceRecord


def resources(since: ResourceRecord | None = None) -> ResourceRecord:
    """What this process has used until now, or since then; memory: the most it ever had."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    kilobytes = used.ru_maxrss / (1024 if sys.platform == "darwin" else 1)
    now = ResourceRecord(
        time.perf_counter(), used.ru_utime, used.ru_stime, kilobytes, used.ru_minflt, used.ru_majflt, used.ru_nvcsw
    )
    if since is None:
        return now
    gone = {field.name: getattr(now, field.name) - getattr(since, field.name) for field in fields(now)}
    return ResourceRecord(**gone | {"max_memory": kilobytes})


def basis_record(calculation: Calculation, point_kc: np.ndarray) -> BasisRecord:
    """Grids, and the plane waves of k-points, counted without asking other ranks."""
    grids, radius = calculation.basis.grids, sphere_radius(calculation.parameters.cutoff)
    count_k = np.array([points_in_sphere(calculation.structure, radius, point_c) for point_c in point_kc])
    return BasisRecord(grids.wave, grids.fine, count_k)
