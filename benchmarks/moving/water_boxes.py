"""Boxes of liquid water as starts of dynamics: flexible SPC/Fw molecules brought to 330 K.

    python benchmarks/moving/water_boxes.py 4 4 4        # structures/water_64.vasp

Molecules on a lattice at 1 g/cm³, turned at random, then Langevin dynamics of 0.5 fs.  Model: Y. Wu, H. L. Tepper,
G. A. Voth, J. Chem. Phys. 124, 024503 (2006); charges by the damped shifted force of C. J. Fennell, J. D. Gezelter,
J. Chem. Phys. 124, 234104 (2006), 0.2 per Å, cut at 6 Å.  Good enough for the shape of a liquid, not for its numbers.
"""

import sys
from pathlib import Path

import numpy as np
import torch
from ase import Atoms
from ase.build import molecule
from ase.units import fs, kB, kcal, mol
from scipy.constants import e, epsilon_0

STRUCTURES = Path(__file__).resolve().parent / "structures"
SPACING, TEMPERATURE, STEP, FRICTION, STEPS = 3.105, 330.0, 0.5 * fs, 0.02 / fs, 1000
BOND, BOND_FORCE, ANGLE, ANGLE_FORCE = 1.012, 1059.162 * kcal / mol, np.radians(113.24), 75.90 * kcal / mol
EPSILON, SIGMA, CHARGE, DAMPING, CUT = 0.1554253 * kcal / mol, 3.165492, 0.41, 0.2, 6.0
COULOMB = e / (4 * np.pi * epsilon_0) * 1e10
"""eV Å."""


def energy(position_ijc: torch.Tensor, cell_c: torch.Tensor) -> torch.Tensor:
    """(molecule, O H H, direction) in Å -> eV."""
    arms = position_ijc[:, 1:] - position_ijc[:, :1]
    length = arms.norm(dim=-1)
    angle = torch.arccos((arms[:, 0] * arms[:, 1]).sum(-1) / length.prod(-1))
    inside = 0.5 * BOND_FORCE * (length - BOND).square().sum() + 0.5 * ANGLE_FORCE * (angle - ANGLE).square().sum()
    n = len(position_ijc)
    flat = position_ijc.reshape(-1, 3)
    i, j = torch.triu_indices(3 * n, 3 * n, 1)
    apart = i // 3 != j // 3
    i, j = i[apart], j[apart]
    between = flat[i] - flat[j]
    between = between - cell_c * torch.round(between / cell_c)
    r = between.square().sum(-1)
    near = r < CUT**2
    i, j, r = i[near], j[near], r[near].sqrt()
    charge = torch.tensor([-2 * CHARGE, CHARGE, CHARGE]).repeat(n)
    edge = torch.tensor(CUT)
    at_edge = torch.erfc(DAMPING * edge) / edge
    slope = at_edge / edge + 2 * DAMPING / np.pi**0.5 * torch.exp(-((DAMPING * edge) ** 2)) / edge
    shifted = torch.erfc(DAMPING * r) / r - at_edge + slope * (r - edge)
    oxygens = (i % 3 == 0) & (j % 3 == 0)
    ratio6 = (SIGMA / r[oxygens]) ** 6
    return inside + COULOMB * (charge[i] * charge[j] * shifted).sum() + 4 * EPSILON * (ratio6 * ratio6 - ratio6).sum()


def forces(position_ijc: torch.Tensor, cell_c: torch.Tensor) -> tuple[float, torch.Tensor]:
    """eV and eV/Å."""
    position_ijc = position_ijc.detach().requires_grad_()
    value = energy(position_ijc, cell_c)
    return float(value.detach()), -torch.autograd.grad(value, position_ijc)[0]


def box(counts: tuple[int, int, int]) -> Atoms:
    """A box of so many molecules along each edge."""
    torch.set_default_dtype(torch.float64)
    rng, noise = np.random.default_rng(3), torch.Generator().manual_seed(3)
    places = []
    for corner in np.ndindex(*counts):
        one = molecule("H2O")
        one.rotate(360 * rng.random(), "z")
        one.rotate(180 * rng.random(), "x")
        places.append(one.positions - one.get_center_of_mass() + (np.array(corner) + 0.5) * SPACING)
    cell_c = torch.tensor(np.array(counts) * SPACING)
    position = torch.tensor(np.array(places))
    mass = torch.tensor([15.999, 1.008, 1.008])[None, :, None]
    for _ in range(200):  # out of the worst contacts
        step = 0.005 * forces(position, cell_c)[1]
        position = position + step * (0.02 / step.abs().max()).clamp(max=1.0)
    velocity, keep = torch.zeros_like(position), np.exp(-FRICTION * STEP)
    _, force = forces(position, cell_c)
    for number in range(STEPS):
        velocity = velocity + 0.5 * STEP * force / mass
        position = position + 0.5 * STEP * velocity
        kick = torch.randn(position.shape, generator=noise) * (kB * TEMPERATURE * (1 - keep**2) / mass).sqrt()
        velocity = keep * velocity + kick
        position = position + 0.5 * STEP * velocity
        value, force = forces(position, cell_c)
        velocity = velocity + 0.5 * STEP * force / mass
        if number % 500 == 499:
            warm = float((mass * velocity.square()).sum()) / (9 * len(position) * kB)
            print(f"{number + 1} steps: {value / len(position):.3f} eV per molecule, {warm:.0f} K", flush=True)
    atoms = Atoms("OH2" * len(position), positions=position.reshape(-1, 3).numpy(), cell=cell_c.numpy(), pbc=True)
    atoms.wrap()
    return atoms[np.argsort(-atoms.numbers, kind="stable")]


if __name__ == "__main__":
    atoms = box((int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
    STRUCTURES.mkdir(exist_ok=True)
    count = len(atoms) // 3
    atoms.write(STRUCTURES / f"water_{count}.vasp", format="vasp", direct=True)
