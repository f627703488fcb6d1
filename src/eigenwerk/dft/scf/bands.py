"""The bands of a fixed potential, and the density they make."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

import torch
from torch.nn.functional import pad

from eigenwerk.dft.density.density import Density, band_density, band_occupancies, electrons_of, filled_bands
from eigenwerk.dft.hamiltonian.hamiltonian import Hamiltonian
from eigenwerk.dft.hamiltonian.single_precision import SingleTables, lowered
from eigenwerk.dft.hamiltonian.wavefunctions import starting_orbitals
from eigenwerk.dft.paw.atoms import PawAtoms
from eigenwerk.dft.paw.one_centre import projections
from eigenwerk.dft.scf.solvers import BandSolver
from eigenwerk.dft.settings.default_bands import guard_bands
from eigenwerk.dft.terms.potential import Potential
from eigenwerk.linalg.shared_dense import SharedEigh
from eigenwerk.parallel.memory.block_sizes import points_in_block, points_side_by_side
from eigenwerk.parallel.process_grid import share
from eigenwerk.parallel.threads import each

Result = TypeVar("Result")


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


def k_blocks(atoms: PawAtoms, bands: int, dtype: torch.dtype | None = None) -> list[slice]:
    """Blocks of k-points whose orbitals, of the basis' number type unless another is given, fit the block size."""
    k_count, step = len(atoms.basis.mask_kG), _step_and_threads(atoms, bands, dtype)[0]
    return [slice(start, min(start + step, k_count)) for start in range(0, k_count, step)]


def _step_and_threads(atoms: PawAtoms, bands: int, dtype: torch.dtype | None, spins: int = 1) -> tuple[int, int]:
    """k-points (of so many spins) in a block, blocks at the same time."""
    runtime, (k_count, g_count) = atoms.runtime, atoms.basis.mask_kG.shape
    point_bytes = bands * g_count * (dtype or atoms.basis.form.dtype).itemsize
    if runtime.device.type != "cpu":
        return points_in_block(spins * k_count, point_bytes, runtime.block_bytes), 1
    return points_side_by_side(k_count, point_bytes, runtime.block_bytes, runtime.threads)


def on_k_blocks(
    atoms: PawAtoms, spins: int, bands: int, work: Callable[[int, slice], Result], dtype: torch.dtype | None = None
) -> list[list[Result]]:
    """work(spin, k) for all blocks of k-points of all spins, side by side where threads are idle; by spin."""
    blocks = k_blocks(atoms, bands, dtype)
    pieces = [(spin, k) for spin in range(spins) for k in blocks]
    found = each(lambda piece: work(*piece), pieces, _step_and_threads(atoms, bands, dtype)[1])
    return [found[spin * len(blocks) : (spin + 1) * len(blocks)] for spin in range(spins)]


def solver_blocks(
    atoms: PawAtoms, spins: int, bands: int, dtype: torch.dtype | None = None
) -> list[tuple[int | slice, slice]]:
    """Spin channels and k-points that are solved together.

    On a GPU all channels, if their orbitals of all k-points fit a block: a launch serves all of them.
    """
    points, on_device = len(atoms.basis.mask_kG), atoms.runtime.device.type != "cpu"
    if on_device and spins > 1 and _step_and_threads(atoms, bands, dtype, spins)[0] == spins * points:
        return [(slice(spins), slice(points))]
    return [(spin, k) for spin in range(spins) for k in k_blocks(atoms, bands, dtype)]


def first_orbitals(atoms: PawAtoms, potential: Potential, bands: int) -> torch.Tensor:
    """Starting orbitals of all spins; (s, k, n, G)."""
    hamiltonian, spins = Hamiltonian.of(atoms, potential), atoms.basis.spin.channels

    def start(spin: int, k: slice) -> torch.Tensor:
        return starting_orbitals(atoms, hamiltonian.block(spin, k), bands, k)

    return torch.stack([torch.cat(blocks) for blocks in on_k_blocks(atoms, spins, bands, start)])


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

    blocks, threads = solver_blocks(atoms, spins, bands, dtype), _step_and_threads(atoms, bands, dtype)[1]
    costs = each(solve, blocks, threads)
    applications, notes = sum(count for count, _ in costs), [note for _, some in costs for note in some]
    both_xskn, applications = of_all_kpoints(atoms, torch.stack([eig_skn, residual_skn]), applications)
    return Bands(coeff_sknG, both_xskn[0], both_xskn[1], applications, tuple(notes), new_sknI)


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
    proj_sknI: torch.Tensor | None = None,
) -> Density:
    """Valence density of the orbitals, not symmetrised; filling_skn = w_k g f of all k-points, best in host memory.

    proj_sknI: projections of the orbitals, if they are known.

    single: the orbitals hold single-precision numbers and are orthonormal to their rounding; sums over them are in
    double, and the density is scaled to the electrons that the filling means.
    """
    basis, runtime = atoms.basis, atoms.runtime
    electrons_s = filling_skn.sum((1, 2)).to(coeff_sknG.device)
    filling_skn = filling_skn[:, basis.own_k]
    tables = single or atoms
    if single is not None:
        coeff_sknG = lowered(coeff_sknG)
    bands = filled_bands(filling_skn)
    there_skn = filling_skn.to(coeff_sknG.device)
    own_n = share(bands, runtime.bands.size, runtime.bands.rank)

    def occupancies(spin: int, k: slice) -> torch.Tensor:
        if proj_sknI is not None:
            proj_knI = proj_sknI[spin, k, :bands]
        else:
            proj_knI = runtime.bands.sum(projections(coeff_sknG[spin, k, :bands], tables.projector_kIG[k]))
        return band_occupancies(atoms, proj_knI[:, own_n].to(basis.form.dtype), there_skn[spin, k, own_n])

    parts_s = on_k_blocks(atoms, len(coeff_sknG), coeff_sknG.shape[2], occupancies)
    # every channel gives one component of the density, or several
    occupancy_sx = runtime.world.sum(torch.stack([torch.stack(parts).sum(0) for parts in parts_s]).flatten(0, -2))
    pairs = zip(coeff_sknG, filling_skn, strict=True)
    sphere_map = None if single is None else single.sphere_map
    density_sR = torch.stack([band_density(basis, *pair, sphere_map) for pair in pairs]).flatten(0, -4)
    density_sR = runtime.world.sum(density_sR)
    density = Density.of(basis.density_of_orbitals(density_sR), occupancy_sx, basis.spin)
    return density if single is None else density.times(electrons_s / electrons_of(density, atoms))
