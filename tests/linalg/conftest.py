"""Eigenproblems for the tests: random pencils, and plane waves in a random potential."""

from dataclasses import dataclass

import pytest
import torch

from eigenwerk.linalg.operator import ALL
from standard_matrix import MatrixOperator
from thread_ranks import on_thread_ranks


def random_tensor(*shape, dtype=torch.complex128, seed=0):
    generator = torch.Generator().manual_seed(seed)
    parts = torch.randn((*shape, 2), generator=generator, dtype=torch.float64)
    return (torch.view_as_complex(parts) if dtype.is_complex else parts[..., 0]).to(dtype)


def random_pencil(k, x, dtype=torch.complex128, seed=0, true_size=None):
    """H with a growing diagonal, S well conditioned; components from `true_size` on are padding."""
    a, b = (random_tensor(k, x, x, dtype=dtype, seed=seed + i) for i in (1, 2))
    h = (a + a.mH) / 2 + torch.diag(torch.arange(x, dtype=torch.float64)).to(dtype)
    s = torch.eye(x, dtype=dtype) + 0.5 * b @ b.mH / x
    mask = torch.arange(x) < (x if true_size is None else true_size)
    both = mask[:, None] & mask[None, :]
    return MatrixOperator(h * both, s * both)


@dataclass
class PlaneWaves:
    """Kinetic energy + random potential of a few Fourier components + one projector in S, one dimension.

    Counts the vectors that H is applied to.
    """

    kinetic_kx: torch.Tensor
    potential_xx: torch.Tensor
    projector_kx: torch.Tensor
    applied: int = 0

    @staticmethod
    def make(k=3, x=200, dtype=torch.complex128, length=40.0, seed=0):
        index = torch.arange(x) - x // 2
        shift = torch.linspace(0, 0.5, k, dtype=torch.float64)[:, None]
        kinetic = 0.5 * (2 * torch.pi / length * (index + shift)) ** 2
        harmonics = random_tensor(12, dtype=torch.complex128, seed=seed) / torch.arange(1, 13)
        if not dtype.is_complex:
            harmonics = harmonics.real.to(torch.complex128)
        potential = torch.zeros(x, x, dtype=torch.complex128)
        for g, value in enumerate(harmonics, start=1):
            potential += torch.diag(value.expand(x - g), g) + torch.diag(value.conj().expand(x - g), -g)
        projector = torch.exp(-kinetic)
        projector = projector / torch.linalg.vector_norm(projector, dim=-1, keepdim=True)
        potential = potential if dtype.is_complex else potential.real
        real = torch.zeros((), dtype=dtype).real.dtype
        return PlaneWaves(kinetic.to(real), potential.to(dtype), projector.to(dtype))

    def overlap(self, x_knx, k=ALL):
        projector = self.projector_kx[k].unsqueeze(-1)
        return x_knx + 0.3 * (x_knx @ projector) @ projector.mT

    def apply(self, x_knx, k=ALL):
        self.applied += x_knx.shape[0] * x_knx.shape[1]
        return self.kinetic_kx[k].unsqueeze(1) * x_knx + x_knx @ self.potential_xx.mT, self.overlap(x_knx, k)

    def precondition(self, residual_knx, eig_kn, x_knx, k=ALL):
        """Payne et al., Rev. Mod. Phys. 64, 1045 (1992), eq. 5.16."""
        kinetic = self.kinetic_kx[k].unsqueeze(1)
        mean = (kinetic * x_knx.abs() ** 2).sum(-1, keepdim=True) / (x_knx.abs() ** 2).sum(-1, keepdim=True)
        t = kinetic / (1.5 * mean)
        top = 27 + 18 * t + 12 * t**2 + 8 * t**3
        return residual_knx * top / (top + 16 * t**4)

    def sum(self, tensor):
        return tensor


class SharedPlaneWaves:
    """H = kinetic + v |p><p|, its components from `first_component` on; `sum` adds over the ranks that share them."""

    def __init__(self, kinetic_kx, p_x, add, first_component=0):
        self.kinetic_kx, self.p_x, self.sum, self.first_component = kinetic_kx, p_x, add, first_component

    def overlap(self, x_knx, k=ALL):
        return x_knx + 0.2 * self.sum(x_knx @ self.p_x).unsqueeze(-1) * self.p_x

    def apply(self, x_knx, k=ALL):
        shadow = self.sum(x_knx @ self.p_x).unsqueeze(-1) * self.p_x
        return self.kinetic_kx[k].unsqueeze(1) * x_knx - 3 * shadow, x_knx + 0.2 * shadow

    def precondition(self, residual_knx, eig_kn, x_knx, k=ALL):
        return residual_knx / (1 + self.kinetic_kx[k].unsqueeze(1))


def on_two(solve, kinetic, p, start):
    """Results of solve(operator, start) of two ranks that hold half of the components each."""
    half = start.shape[-1] // 2

    def work(rank, add):
        part = slice(half * rank, half * rank + half)
        return solve(SharedPlaneWaves(kinetic[:, part], p[part], add, part.start), start[..., part])

    return on_thread_ranks(work)


@pytest.fixture(scope="session")
def on_two_ranks():
    """Number of bands -> (operator on one rank, start vectors, (solve, start) -> results of two ranks)."""

    def make(bands):
        kinetic = 0.05 * torch.arange(60, dtype=torch.float64).repeat(3, 1) ** 2 + torch.tensor([[0.1], [0.5], [0.9]])
        p = torch.ones(60, dtype=torch.complex128) / 60**0.5
        serial = SharedPlaneWaves(kinetic, p, lambda tensor: tensor)
        start = random_tensor(3, bands, 60) / (1 + kinetic.unsqueeze(1))
        return serial, start, lambda solve, start: on_two(solve, kinetic, p, start)

    return make


@pytest.fixture(scope="session", name="random_tensor")
def random_tensor_fixture():
    return random_tensor


@pytest.fixture(scope="session", name="random_pencil")
def random_pencil_fixture():
    return random_pencil


@pytest.fixture(scope="session")
def plane_waves():
    return PlaneWaves.make
