"""Bands at any number of k-points in a potential that does not change.

The points are taken batch by batch, so that memory does not grow with their number, or all at once where their orbitals
are kept.  Each batch starts as a self-consistent run does, from atomic orbitals, and blocked Davidson goes on until all
bands have converged; some bands more than asked for go along, so that the highest ones are as good as the others.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import ceil

import numpy as np
import torch

from eigenwerk.dft.after.projections import Projections
from eigenwerk.dft.calculation import Calculation
from eigenwerk.dft.crystal.kpoints import KPoints
from eigenwerk.dft.density.density import Density
from eigenwerk.dft.energy_terms import potential_builder
from eigenwerk.dft.paw.atoms import PawAtoms
from eigenwerk.dft.scf.bands import Bands, first_orbitals, solve_bands
from eigenwerk.dft.scf.solvers import BandSolver
from eigenwerk.dft.terms.potential import Potential
from eigenwerk.eigensolvers import EIGENSOLVERS
from eigenwerk.errors import InputError
from eigenwerk.parallel.memory.block_sizes import BATCH_POINTS, FEWEST_GUARDS, GUARD_SHARE
from eigenwerk.units import HARTREE_EV

LARGEST_RESIDUAL = 1e-4 / HARTREE_EV
"""Of converged bands, hartree: a true level lies no further away, and in practice nearer by the next rule's square."""

NARROW = 0.1 / HARTREE_EV
"""Distance (hartree) of levels for which residual² / distance is to stay below the energy tolerance."""

EXPANSIONS = 6
"""Of the space of blocked Davidson in one sweep."""

Visit = Callable[[PawAtoms, Bands, slice], None]
"""What is to be done with the orbitals of a batch, on all ranks: its atoms and bands, and which points of the list."""

Renew = Callable[[PawAtoms], Callable[[torch.Tensor], Potential]]
"""For the atoms of a batch what gives the potential again from orbitals found with it, where it is made of them."""

RENEWALS = 12
"""Potentials that are made anew of orbitals, at most: each leaves some percent of the error."""

OnBatch = Callable[[int, int, float], None]
"""Told after each batch: points done, all points, largest residual in hartree."""


@dataclass(frozen=True, eq=False)
class PointBands:
    """Bands of a list of k-points, the same on every rank, in host memory.

    eig_skn, residual_skn: (s, k, n) hartree; tolerance: on the residuals; applications of H to single orbitals.
    projections: of the orbitals on atoms, if wanted.  coeff_sknG: the orbitals on the basis of the calculation,
    of this group's k-points and this rank's plane waves, if they were kept.
    """

    kpoints: KPoints
    eig_skn: torch.Tensor
    residual_skn: torch.Tensor
    tolerance: float
    applications: int
    projections: Projections | None = None
    coeff_sknG: torch.Tensor | None = None

    @property
    def residual(self) -> float:
        """The largest one, hartree."""
        return float(self.residual_skn.max())

    @property
    def open_points(self) -> int:
        """Points at which some band has not converged."""
        return int((self.residual_skn > self.tolerance).any(2).any(0).sum())

    @property
    def converged(self) -> bool:
        """Whether all bands have."""
        return self.open_points == 0


def residual_tolerance(energy_tolerance: float) -> float:
    """Of bands, for an energy tolerance (EDIFF); hartree."""
    return float(min(LARGEST_RESIDUAL, (energy_tolerance * NARROW) ** 0.5))


def bands_at(
    calculation: Calculation, density: Density, kpoints: KPoints, visit: Visit | None = None,
    on_batch: OnBatch | None = None, keep: bool = False,
) -> PointBands:  # fmt: skip
    """Bands at any k-points in the potential of a density, to a tolerance that follows from EDIFF.

    visit, on_batch: see there; residuals |H ψ - ε S ψ| are driven below the tolerance in sweeps of EXPANSIONS, NELM at
    most, after which a batch is left as it is.  keep: the orbitals too, of all points at once, which must be those of
    the calculation.
    """
    exchange, parts = calculation.exchange, list[Projections]()

    def potential_for(atoms: PawAtoms) -> Potential:
        if potential.rows is None or atoms is calculation.atoms:
            return potential
        # rows of terms belong to k-points; those of exchange are made of orbitals, first of semilocal ones
        scene = calculation.scene if exchange is None else calculation.scene.semilocal
        return potential_builder(replace(scene, atoms=atoms))(density)

    def renew(atoms: PawAtoms) -> Callable[[torch.Tensor], Potential]:
        assert exchange is not None
        rows_of = exchange.rows_at(atoms)
        return lambda coeff_sknG: replace(potential, rows=rows_of(coeff_sknG))

    def look(atoms: PawAtoms, bands: Bands, own: slice) -> None:
        if visit is not None:
            visit(atoms, bands, own)
        projections = calculation.derived.projections(atoms, bands.coeff_sknG)
        if projections is not None:
            parts.append(projections.first(own.stop - own.start))

    with calculation.runtime.trace.span("band structure"):
        potential = calculation.builder(density)
        _require_screening(calculation, kpoints)
        found = _bands(
            calculation, potential_for, kpoints, look, on_batch, keep, None if exchange is None else renew
        )
        return replace(found, projections=Projections.joined(parts)) if parts else found


def _require_screening(calculation: Calculation, kpoints: KPoints) -> None:
    """Raise unless exchange with the mesh means something for bands at these points."""
    given, exchange = calculation.parameters, calculation.exchange
    if exchange is None or kpoints is calculation.kpoints:
        return
    if given.downsampling is not None:
        raise InputError(
            f"NKRED: bands at k-points beside the mesh ({kpoints.source}) need exchange with all points of the "
            "mesh. Remove NKRED, EVENONLY and ODDONLY, or leave these k-points out."
        )
    # screened, or 1/r that ends before the next cell: at any point
    if (given.hybrid is not None and given.hybrid.screening) or exchange.operator.kernel.long_range is not None:
        return
    raise InputError(
        f"LHFCALC: bands at k-points beside the mesh ({kpoints.source}) need an interaction that ends; that of 1/r "
        "diverges between neighbouring points. Set HFSCREEN = 0.2 (HSE06), or exchange_range = \"Wigner-Seitz\"."
    )


def _bands(
    calculation: Calculation, potential_for: Callable[[PawAtoms], Potential], kpoints: KPoints, visit: Visit,
    on_batch: OnBatch | None, keep: bool, renew: Renew | None,
) -> PointBands:  # fmt: skip
    """The lowest bands at all points of a list; called on all ranks; potential_for: the atoms of a batch."""
    atoms, given, found, count = calculation.atoms, calculation.parameters, list[Bands](), len(kpoints.point_kc)
    bands, tolerance, done = given.bands, residual_tolerance(given.energy_tolerance), 0
    if keep:

        def told(one: Bands) -> None:
            if on_batch is not None:
                open_k = (one.residual_skn[..., :bands] > tolerance).any(2).any(0)
                on_batch(count - int(open_k.sum()), count, float(one.residual_skn[..., :bands].max()))

        one = _solve(atoms, potential_for(atoms), bands, tolerance, given.max_steps, told)
        visit(atoms, one, slice(0, count))
        return PointBands(
            kpoints, one.eig_skn, one.residual_skn, tolerance, one.applications, coeff_sknG=one.coeff_sknG
        )
    for own in _batches(atoms, count, bands):
        batch = _padded(kpoints, own, atoms.runtime.grid.groups)
        here = atoms.at_points(atoms.basis.at_points(batch, calculation.real_at(batch)))
        again = None if renew is None else renew(here)
        one = _solve(here, potential_for(here), bands, tolerance, given.max_steps, again=again)
        visit(here, one, own)
        length = own.stop - own.start
        # orbitals go, so that the next batch finds their room
        found.append(replace(
            one, coeff_sknG=one.coeff_sknG.new_empty(0), proj_sknI=None, eig_skn=one.eig_skn[:, :length],
            residual_skn=one.residual_skn[:, :length],
        ))  # fmt: skip
        done += length
        if on_batch is not None:
            on_batch(done, count, float(found[-1].residual_skn.max()))
    return PointBands(
        kpoints, torch.cat([one.eig_skn for one in found], 1), torch.cat([one.residual_skn for one in found], 1),
        tolerance, sum(one.applications for one in found),
    )  # fmt: skip


def _batches(atoms: PawAtoms, count: int, bands: int) -> Iterator[slice]:
    """Parts of a list of points of nearly equal length: what fits a block on each rank, BATCH_POINTS at most."""
    basis, runtime = atoms.basis, atoms.runtime
    rows = basis.spin.channels * _with_guards(bands) + atoms.layout.projector_count
    point_bytes = rows * basis.mask_kh.shape[1] * runtime.complex.itemsize
    most = int(runtime.world.max(runtime.index(point_bytes)))
    groups = runtime.grid.groups
    together = groups * max(1, min(int(runtime.block_bytes // most), BATCH_POINTS // groups))
    number = ceil(count / together)
    for batch in range(number):
        yield slice(batch * count // number, (batch + 1) * count // number)


def _padded(kpoints: KPoints, own: slice, groups: int) -> KPoints:
    """The points of a batch, the last one repeated until every k-group has one."""
    point_kc = kpoints.point_kc[own]
    point_kc = np.concatenate([point_kc, np.repeat(point_kc[-1:], max(groups - len(point_kc), 0), axis=0)])
    weight_k = np.full(len(point_kc), 1.0 / len(point_kc))
    return KPoints(
        point_kc, weight_k, None, (0.0, 0.0, 0.0), len(point_kc), None, kpoints.source, symmetry=kpoints.symmetry
    )


def _with_guards(bands: int) -> int:
    return bands + max(FEWEST_GUARDS, bands // GUARD_SHARE)


def _solve(
    atoms: PawAtoms, potential: Potential, bands: int, tolerance: float, max_sweeps: int,
    on_sweep: Callable[[Bands], None] = lambda found: None, again: Callable[[torch.Tensor], Potential] | None = None,
) -> Bands:  # fmt: skip
    """All bands of the points of a basis; on_sweep is told after each sweep; again: gives the potential anew."""
    runtime, basis = atoms.runtime, atoms.basis
    fewest = -int(runtime.world.max(runtime.index(-min(basis.count_k))))
    start_sknG = first_orbitals(atoms, potential, max(bands, min(_with_guards(bands), fewest)))
    found = _swept(atoms, potential, start_sknG, bands, tolerance, max_sweeps, on_sweep)
    for _ in range(RENEWALS if again is not None else 0):
        assert again is not None
        before = found
        found = _swept(atoms, again(before.coeff_sknG), before.coeff_sknG, bands, tolerance, max_sweeps, on_sweep)
        found = replace(found, applications=found.applications + before.applications)
        moved = float((found.eig_skn - before.eig_skn)[..., :bands].abs().max())
        if not runtime.world.any(moved > tolerance):
            break
    else:
        if again is not None:  # the last change says how far the levels may be off
            found = replace(found, residual_skn=found.residual_skn + (found.eig_skn - before.eig_skn).abs())
    return found.lowest(bands)


def _swept(
    atoms: PawAtoms, potential: Potential, start_sknG: torch.Tensor, bands: int, tolerance: float, max_sweeps: int,
    on_sweep: Callable[[Bands], None],
) -> Bands:  # fmt: skip
    """Bands of one potential, guards included."""
    runtime = atoms.runtime
    wanted_skn = torch.zeros(
        (len(start_sknG), len(atoms.basis.kpoints.point_kc), start_sknG.shape[2]), dtype=runtime.real
    )
    wanted_skn[..., :bands] = 1.0
    method = BandSolver.of(EIGENSOLVERS[0], expansions=EXPANSIONS, final_residual=True)
    applications, proj_sknI = 0, None
    for _ in range(max_sweeps):
        found = solve_bands(
            atoms, potential, start_sknG, method=method, tolerance=tolerance, wanted_skn=wanted_skn,
            proj_sknI=proj_sknI,
        )
        start_sknG, proj_sknI, applications = found.coeff_sknG, found.proj_sknI, applications + found.applications
        on_sweep(found)
        # band ranks may differ in the last digits, and must go on together
        if not runtime.world.any(bool((found.residual_skn[..., :bands] > tolerance).any())):
            break
    return replace(found, applications=applications)
