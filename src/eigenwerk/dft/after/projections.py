"""How much of each orbital lies in the sphere of each atom, by angular momentum.

w_aL = ∫_0^R |ψ_aL(r)|² r² dr: the charge of the all-electron orbital inside the sphere of atom a with the angular
momentum L = (l, m) about it; the real harmonics are those of VASP in its order (s, py, pz, px, dxy, dyz, dz2, dxz,
x2-y2, ...).  How it is computed: `paw/sphere_waves.py` and docs/equations/projections.md.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from eigenwerk.dft.after.star_average import StarAverage, star_average
from eigenwerk.dft.basis.grids import sphere_radius
from eigenwerk.dft.crystal.symmetry import Symmetry
from eigenwerk.dft.paw.atoms import PawAtoms
from eigenwerk.dft.paw.one_centre import projections
from eigenwerk.dft.paw.sphere_waves import HIGHEST_L, SphereWaves, sphere_waves
from eigenwerk.parallel.memory.block_sizes import points_in_block
from eigenwerk.parallel.process_grid import share

COLUMNS = (HIGHEST_L + 1) ** 2
"""Numbers L of an atom."""

OF_ORBITALS = ("weight_sknaL", "phase_sknaL", "average_sknaL", "crossed_sknaL")
"""The fields of `Projections` that have a value for each orbital."""


@dataclass(frozen=True, eq=False)
class Projections:
    """Weights of orbitals on atoms, of all k-points in host memory of the first k-group; None in the others.

    radius: of the spheres by element, bohr.  weight_sknaL: w of each orbital.  phase_sknaL: complex, with |.|² = w and
    the phase of the orbital's overlap with the first partial wave of that l, None unless asked for.
    average_sknaL: w averaged over the star of the k-point, for sums over the full mesh; crossed_sknaL: what it gives to
    the other spin channel, None unless operations exchange spins.
    occupied_saL: electrons in each sphere, on all ranks.
    """

    radius: Mapping[str, float]
    weight_sknaL: torch.Tensor | None
    phase_sknaL: torch.Tensor | None
    average_sknaL: torch.Tensor | None
    crossed_sknaL: torch.Tensor | None
    occupied_saL: torch.Tensor

    @staticmethod
    def joined(parts: Sequence["Projections"]) -> "Projections":
        """Those of a list of k-points from those of its parts, one after the other."""

        def join(name: str) -> Any:
            values = [getattr(part, name) for part in parts]
            return None if values[0] is None else torch.cat(values, 1)

        occupied_saL = torch.stack([part.occupied_saL for part in parts]).sum(0)
        return replace(parts[0], occupied_saL=occupied_saL, **{name: join(name) for name in OF_ORBITALS})

    def filled(self, filling_skn: torch.Tensor) -> "Projections":
        """With the electrons of other fillings, where there are weights."""
        if self.average_sknaL is None:
            return self
        occupied_saL = torch.einsum("skn,sknaL->saL", filling_skn, self.average_sknaL)
        if self.crossed_sknaL is not None:
            occupied_saL = occupied_saL + torch.einsum("skn,sknaL->saL", filling_skn, self.crossed_sknaL).flip(0)
        return replace(self, occupied_saL=occupied_saL)

    def first(self, points: int) -> "Projections":
        """Of the first k-points alone, the others having held no electrons."""

        def cut(name: str) -> Any:
            value_sknaL = getattr(self, name)
            return None if value_sknaL is None else value_sknaL[:, :points]

        return replace(self, **{name: cut(name) for name in OF_ORBITALS})


def site_projections(
    atoms: PawAtoms,
    coeff_sknG: torch.Tensor,
    filling_skn: torch.Tensor,
    radius: Mapping[str, float],
    symmetry: Symmetry,
    phases: bool = False,
) -> Projections:
    """Project orbitals on spheres about all atoms.  Collective over all ranks.

    atoms: on the basis of the orbitals, whose k-points need not be those of self-consistency; filling_skn: w_k g f of
    all its k-points, zeros for points that hold no electrons; radius: by element, bohr; symmetry: to average with.
    """
    star = star_average(symmetry, HIGHEST_L, atoms.runtime)
    waves = {
        species.setup.symbol: sphere_waves(
            species.setup, radius[species.setup.symbol], sphere_radius(atoms.basis.cutoff), atoms.runtime
        )
        for species in atoms.layout.species
    }  # fmt: skip
    own_skn = filling_skn[:, atoms.basis.own_k].to(coeff_sknG.device)
    whole: dict[str, list[torch.Tensor | None]] = {}
    occupied_saL = own_skn.new_zeros((len(own_skn), len(atoms.layout.projectors_a), COLUMNS))
    for spin, coeff_knG in enumerate(coeff_sknG):
        weights = _weights(atoms, coeff_knG, waves, star, phases)
        for name, channel in (("average", spin), ("crossed", 1 - spin)):
            if name in weights:
                occupied_saL[channel] += torch.einsum("kn,knaL->aL", own_skn[spin], weights[name])
        for name, value_knaL in weights.items():
            whole.setdefault(name, []).append(_of_all_kpoints(atoms, value_knaL))
    found = {name: _joined(parts) for name, parts in whole.items()}
    occupied_saL = atoms.runtime.grid.kpoints.sum(occupied_saL).cpu()
    return Projections(
        dict(radius), found["weight"], found.get("phase"), found["average"], found.get("crossed"), occupied_saL
    )


def _weights(
    atoms: PawAtoms, coeff_knG: torch.Tensor, waves: Mapping[str, SphereWaves], star: StarAverage, phases: bool
) -> dict[str, torch.Tensor]:
    """The fields of `Projections` by name for one spin and the k-points of this group, (k, n, a, L) each."""
    points, bands, _ = coeff_knG.shape
    shape = points, bands, len(atoms.layout.projectors_a), COLUMNS
    names = ["weight", "average", *(["crossed"] if star.flips else [])]
    found = {name: torch.empty(shape, dtype=atoms.runtime.real, device=coeff_knG.device) for name in names}
    if phases:
        found["phase"] = torch.empty(shape, dtype=atoms.runtime.complex, device=coeff_knG.device)
    # the functions of one atom take the room of so many orbitals
    vectors = max(bands, *(sphere.count for sphere in waves.values()))
    point_bytes = vectors * atoms.basis.mask_kh.shape[1] * atoms.runtime.complex.itemsize
    step = max(1, points_in_block(points, point_bytes, atoms.runtime.block_bytes))
    for k in (slice(start, min(start + step, points)) for start in range(0, points, step)):
        gathered: dict[int, list[list[torch.Tensor]]] = {}
        for a, sphere, amplitude_lknzm in _amplitudes(atoms, coeff_knG[k], waves, k):
            found["weight"][k, :, a] = torch.cat([x.abs().square().sum(2) for x in amplitude_lknzm], -1)
            if phases:
                found["phase"][k, :, a] = _phases(sphere, amplitude_lknzm, found["weight"][k, :, a])
            density_lxmm = [(x.mT @ x.conj()).real.flatten(0, 1) for x in amplitude_lknzm]
            given, first = star.gathered(a, density_lxmm), star.first_a[a]
            before = gathered.get(first)
            gathered[first] = given if before is None else [
                [x + y for x, y in zip(*parts, strict=True)] for parts in zip(before, given, strict=True)
            ]  # fmt: skip
        for a, first in enumerate(star.first_a):
            for name, value_xL in zip(names[1:], star.spread(a, gathered[first]), strict=True):
                found[name][k, :, a] = value_xL.unflatten(0, (-1, bands))
    return found


def _amplitudes(
    atoms: PawAtoms, coeff_knG: torch.Tensor, waves: Mapping[str, SphereWaves], k: slice
) -> Iterator[tuple[int, SphereWaves, list[torch.Tensor]]]:
    """Each atom with the numbers z of its sphere for every l, (k, n, z, m), complete on every rank."""
    bands = atoms.runtime.bands
    proj_knI = bands.sum(projections(coeff_knG, atoms.projector_kIG[k]))
    for species in atoms.layout.species:
        setup, sphere = species.setup, waves[species.setup.symbol]
        shape_kih = atoms.orbital_shapes(sphere.l_y, sphere.table, k)
        place_ai = dict(zip(species.atom_a.tolist(), atoms.layout.columns(species, proj_knI.device), strict=True))
        for atom in place_ai:
            rows = atoms.rows_of(atom, sphere.l_y, shape_kih, k)
            smooth = [bands.sum(projections(coeff_knG, row_kiG)) for _, row_kiG in rows]
            if smooth:
                partial = [proj_knI[..., place_ai[a]] for a, _ in rows]
                smooth_of = atoms.true_projections(atom, smooth, sphere.l_y, k)
                partial_of = atoms.true_projections(atom, partial, setup.l_j, k)
                for (a, smooth_kni), (_, partial_kni) in zip(smooth_of, partial_of, strict=True):
                    yield a, sphere, _together(sphere, setup.l_j, smooth_kni, partial_kni)


def _together(
    sphere: SphereWaves, l_j: tuple[int, ...], smooth_kni: torch.Tensor, partial_kni: torch.Tensor
) -> list[torch.Tensor]:
    """The numbers z for each l, from the functions b (their c, then a zero for each e) and from partial waves."""
    found = []
    smooth_of = _by_channel(sphere.l_y, smooth_kni)
    partial_of = _by_channel(l_j, partial_kni)
    for l, (mixing_zj, channel_j) in enumerate(zip(sphere.mixing_lzj, sphere.channel_lj, strict=True)):
        z_knzm = torch.stack([c for c, degree in zip(smooth_of, sphere.l_y, strict=True) if degree == l], 2)
        if len(channel_j):
            partial_knjm = torch.stack([partial_of[j] for j in channel_j], 2)
            missing = len(mixing_zj) - z_knzm.shape[2]
            z_knzm = torch.cat([z_knzm, z_knzm.new_zeros((*z_knzm.shape[:2], missing, 2 * l + 1))], 2)
            z_knzm = z_knzm + mixing_zj.to(partial_knjm.dtype) @ partial_knjm
        found.append(z_knzm)
    return found


def _by_channel(l_j: tuple[int, ...], value_kni: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """The parts (k, n, m) of each radial channel."""
    return value_kni.split([2 * l + 1 for l in l_j], -1)


def _phases(sphere: SphereWaves, amplitude_lknzm: list[torch.Tensor], weight_knL: torch.Tensor) -> torch.Tensor:
    """Numbers with |.|² = w and the phase of the overlap with the reference of each l; (k, n, L)."""
    overlap_knL = torch.cat([
        torch.einsum("z,knzm->knm", reference_z.to(z_knzm.dtype), z_knzm)
        for reference_z, z_knzm in zip(sphere.reference_lz, amplitude_lknzm, strict=True)
    ], -1)  # fmt: skip
    size_knL = overlap_knL.abs()
    phase_knL = torch.where(size_knL > 0, overlap_knL / size_knL.clamp_min(1e-300), 1)
    return phase_knL * weight_knL.sqrt()


def _of_all_kpoints(atoms: PawAtoms, value_kx: torch.Tensor) -> torch.Tensor | None:
    """Values of all k-points in host memory of the first k-group; None in the others."""
    comm, points = atoms.runtime.grid.kpoints, len(atoms.basis.kpoints.point_kc)
    lengths = [own.stop - own.start for own in (share(points, comm.size, rank) for rank in range(comm.size))]
    whole_kx = comm.gather(value_kx.contiguous(), lengths=lengths)
    return None if whole_kx is None else whole_kx.cpu()


def _joined(parts: list[torch.Tensor | None]) -> torch.Tensor | None:
    """One array of all spins."""
    there = [part for part in parts if part is not None]
    return torch.stack(there) if there else None
