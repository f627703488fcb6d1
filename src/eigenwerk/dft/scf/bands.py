"""The bands of a fixed potential, and the density they make."""

from collections.abc import Collection
from dataclasses import dataclass, replace

import torch
from torch.nn.functional import pad

from eigenwerk.dft.basis.blocks import k_blocks, on_k_blocks, step_and_threads
from eigenwerk.dft.basis.plane_wave_basis import PlaneWaveBasis
from eigenwerk.dft.density.density import Density, density_of, electrons_of
from eigenwerk.dft.density.kinds.kind import FilledOrbitals
from eigenwerk.dft.density.kinds.table import ALWAYS
from eigenwerk.dft.filling.default_bands import guard_bands
from eigenwerk.dft.hamiltonian.hamiltonian import Hamiltonian
from eigenwerk.dft.hamiltonian.single_precision import SingleTables, lowered
from eigenwerk.dft.hamiltonian.wavefunctions import starting_orbitals
from eigenwerk.dft.paw.atoms import PawAtoms
from eigenwerk.dft.scf.solvers import BandSolver
from eigenwerk.dft.terms.potential import Potential
from eigenwerk.linalg.shared_dense import SharedEigh
from eigenwerk.parallel.process_grid import share
from eigenwerk.parallel.threads import each


@dataclass(frozen=True)
class Bands:
    """Orbitals and eigenvalues of all spins and k-points, and what they cost.

    coeff_sknG (s, k, n, G): of this group's k-points and this rank's plane waves; eig_skn, residual_skn (hartree), in
    host memory, and applications of H to single orbitals: of all k-points, the same on every rank; proj_sknI: the
    orbitals' projections, complete on every rank; None from solvers that do not keep them.
    """

    coeff_sknG: torch.Tensor
    eig_skn: torch.Tensor
    residual_skn: torch.Tensor
    applications: int
    notes: tuple[str, ...] = ()
    proj_sknI: torch.Tensor | None = None

    def lowest(self, bands: int) -> "Bands":
        """The same without the bands above."""
        if self.eig_skn.shape[2] == bands:
            return self
        return replace(
            self, coeff_sknG=self.coeff_sknG[:, :, :bands].contiguous(),
            eig_skn=self.eig_skn[..., :bands].contiguous(), residual_skn=self.residual_skn[..., :bands].contiguous(),
            proj_sknI=None if self.proj_sknI is None else self.proj_sknI[:, :, :bands].contiguous(),
        )


def with_guards(atoms: PawAtoms, bands: int) -> int:
    """Bands of the first step: with guards, as far as the plane waves of every k-point can hold them."""
    comm = atoms.runtime.grid.kpoints
    fewest = -int(comm.max(atoms.runtime.index(-min(atoms.basis.count_k))))
    return max(bands, min(bands + guard_bands(bands), fewest))


def solver_blocks(
    basis: PlaneWaveBasis, spins: int, bands: int, dtype: torch.dtype | None = None
) -> list[tuple[int | slice, slice]]:
    """Spin channels and k-points that are solved together.

    On a GPU all channels, if their orbitals of all k-points fit a block: a launch serves all of them.
    """
    points, on_device = len(basis.mask_kG), basis.runtime.device.type != "cpu"
    if on_device and spins > 1 and step_and_threads(basis, bands, dtype, spins)[0] == spins * points:
        return [(slice(spins), slice(points))]
    return [(spin, k) for spin in range(spins) for k in k_blocks(basis, bands, dtype)]


def first_orbitals(atoms: PawAtoms, potential: Potential, bands: int) -> torch.Tensor:
    """Starting orbitals of all spins; (s, k, n, G)."""
    hamiltonian, spins = Hamiltonian.of(atoms, potential), atoms.basis.spin.channels

    def start(spin: int, k: slice) -> torch.Tensor:
        return starting_orbitals(atoms, hamiltonian.block(spin, k), bands, k)

    return torch.stack([torch.cat(blocks) for blocks in on_k_blocks(atoms.basis, spins, bands, start)])


def solve_bands(
    atoms: PawAtoms,
    potential: Potential,
    start_sknG: torch.Tensor,
    *,
    method: BandSolver,
    tolerance: float,
    wanted_skn: torch.Tensor | None,
    single: SingleTables | None = None,
    proj_sknI: torch.Tensor | None = None,
) -> Bands:
    """Improve the orbitals in a fixed potential block by block; wanted_skn: of all k-points.

    single: work in single precision; the orbitals that come out hold such numbers in double ones.
    proj_sknI: projections of the start, from the last step, if it kept them; not used in single precision.
    """
    coeff_sknG, runtime = torch.empty_like(start_sknG), atoms.runtime
    eig_skn = torch.empty(start_sknG.shape[:3], dtype=runtime.real, device=start_sknG.device)
    residual_skn = torch.empty_like(eig_skn)
    if wanted_skn is not None:
        wanted_skn = wanted_skn[:, atoms.basis.own_k].to(start_sknG.device)
    spins, bands = start_sknG.shape[0], start_sknG.shape[2]
    hamiltonian = Hamiltonian.of(atoms, potential)
    dtype = atoms.basis.form.dtype if single is None else single.projector_kIG.dtype
    if single is not None:
        hamiltonian = single.hamiltonian(hamiltonian)

    keeps = method.solver.keeps and hamiltonian.splits
    known_sknI = proj_sknI if keeps else None
    shape = (*start_sknG.shape[:3], hamiltonian.row_count)
    new_sknI = torch.empty(shape, dtype=dtype, device=start_sknG.device) if keeps else None

    def solve(block: tuple[int | slice, slice]) -> tuple[int, tuple[str, ...]]:
        def there(value_skx: torch.Tensor) -> torch.Tensor:
            return value_skx[block].reshape(-1, *value_skx.shape[2:])  # a view: blocks have one channel or all k-points

        operator, start_knG = hamiltonian.block(*block), there(start_sknG)
        start_knG = start_knG if single is None else lowered(start_knG)
        known = {} if known_sknI is None else {"proj_kni": operator.completed(there(known_sknI), start_knG)}
        result = method.solve(
            operator, start_knG, tolerance=tolerance,
            wanted_weight_kn=None if wanted_skn is None else there(wanted_skn),
            eigh=SharedEigh(runtime.bands, runtime.trace), **known,
        )
        if new_sknI is not None and result.proj_kni is not None:
            there(new_sknI).copy_(result.proj_kni)
        there(coeff_sknG).copy_(result.vectors_knx)
        there(eig_skn).copy_(result.eig_kn)
        there(residual_skn).copy_(result.residual_kn)
        return result.applications, result.notes

    blocks = solver_blocks(atoms.basis, spins, bands, dtype)
    costs = each(solve, blocks, step_and_threads(atoms.basis, bands, dtype)[1])
    applications, notes = sum(count for count, _ in costs), [note for _, some in costs for note in some]
    both_xskn, applications = of_all_kpoints(atoms, torch.stack([eig_skn, residual_skn]), applications)
    return Bands(coeff_sknG, both_xskn[0], both_xskn[1], applications, tuple(notes), new_sknI)


@dataclass(frozen=True, eq=False)
class BandProblem:
    """What `solve_bands` takes, for whoever solves for one cycle or for many together."""

    atoms: PawAtoms
    potential: Potential
    start_sknG: torch.Tensor
    method: BandSolver
    tolerance: float
    wanted_skn: torch.Tensor | None
    single: SingleTables | None
    proj_sknI: torch.Tensor | None

    def solved(self) -> Bands:
        """By itself."""
        with self.atoms.runtime.trace.span("bands"):
            return solve_bands(**vars(self))


def of_all_kpoints(atoms: PawAtoms, value_xskn: torch.Tensor, count: int) -> tuple[torch.Tensor, int]:
    """Values of this group's k-points -> those of all k-points, in host memory of every rank; and the sum of counts.

    All go by one message and one copy.
    """
    kpoints, points = atoms.runtime.grid.kpoints, len(atoms.basis.kpoints.point_kc)
    flat_ky = pad(value_xskn.movedim(2, 0).flatten(1), (0, 1))
    flat_ky[:1, -1] = count
    shares = [share(points, kpoints.size, group) for group in range(kpoints.size)]
    whole_ky = kpoints.all_gather(flat_ky, [own.stop - own.start for own in shares]).cpu()
    x, s, _, n = value_xskn.shape
    return whole_ky[:, :-1].unflatten(1, (x, s, n)).movedim(0, 2).contiguous(), int(whole_ky[:, -1].sum())


def density_of_bands(
    atoms: PawAtoms, coeff_sknG: torch.Tensor, filling_skn: torch.Tensor, single: SingleTables | None = None,
    proj_sknI: torch.Tensor | None = None, fields: Collection[str] = ALWAYS,
) -> Density:  # fmt: skip
    """Valence density of the orbitals, not symmetrised; filling_skn = w_k g f of all k-points, best in host memory.

    proj_sknI: projections of the orbitals, if they are known; fields: which it carries.
    single: the orbitals hold single-precision numbers and are orthonormal to their rounding; sums over them are in
    double, and the density is scaled to the electrons that the filling means.
    """
    orbitals = FilledOrbitals.of(atoms, coeff_sknG, filling_skn, proj_sknI)
    if single is None:
        return density_of(orbitals, fields)
    density = density_of(replace(
        orbitals, coeff_sknG=lowered(coeff_sknG), projector_kIG=single.projector_kIG, sphere_map=single.sphere_map
    ), fields)  # fmt: skip
    electrons_s = filling_skn.sum((1, 2)).to(coeff_sknG.device)
    return density.times(electrons_s / electrons_of(density, atoms))
