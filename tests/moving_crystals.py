"""Energy surfaces whose statistics are known: a harmonic crystal, and a crystal that depends on its cell as well."""

import numpy as np

from eigenwerk.motion.surface import Arrangement, SurfacePoint

EDGE = 10.0


class HarmonicCrystal:
    """Atoms on springs of random stiffness between all pairs of coordinates, such that a common shift costs nothing."""

    def __init__(self, atoms=8, seed=0, tethered=False):
        generator = np.random.default_rng(seed)
        corners = np.stack(np.meshgrid(*3 * [np.arange(2)], indexing="ij"), -1).reshape(-1, 3)[:atoms]
        self.start = Arrangement(np.diag([EDGE, EDGE, EDGE]), 0.25 + 0.5 * corners)
        self.masses_a = generator.uniform(5.0, 40.0, atoms)
        root = generator.normal(size=(3 * atoms, 3 * atoms))
        hessian = 2 * root @ root.T / (3 * atoms) + 0.5 * np.eye(3 * atoms)  # eV/Å²
        shifts = np.kron(np.ones((atoms, 1)), np.eye(3))
        still = np.eye(3 * atoms) - (0 if tethered else 1) * shifts @ shifts.T / atoms
        self.hessian = still @ hessian @ still

    def __call__(self, arrangement):
        moved_x = (arrangement.position_av - self.start.position_av).ravel()
        return SurfacePoint(
            arrangement, 0.5 * moved_x @ self.hessian @ moved_x, -(self.hessian @ moved_x).reshape(-1, 3)
        )


class LennardJones:
    """Thirty-two atoms of argon's size and of masses of 20 to 60 amu, cubic close-packed; soon without memory.

    U = Σ w(r), w the potential of Lennard and Jones shifted such that it and its force end at `reach`.
    """

    depth, size, reach = 0.0104, 3.4, 4.7  # eV, Å, Å

    def __init__(self, edge=10.7):
        corners = np.stack(np.meshgrid(*3 * [np.arange(2)], indexing="ij"), -1).reshape(-1, 1, 3)
        faces = np.array([[0, 0, 0], [0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]])
        self.start = Arrangement(np.eye(3) * edge, (0.5 * (corners + faces)).reshape(-1, 3))
        self.masses_a = np.random.default_rng(0).uniform(20.0, 60.0, 32)
        self.upper = np.triu_indices(32, 1)

    def pair(self, distance):
        """Energy and slope without the shift."""
        sixth = (self.size / distance) ** 6
        return 4 * self.depth * (sixth**2 - sixth), -24 * self.depth * (2 * sixth**2 - sixth) / distance

    def __call__(self, arrangement):
        scaled_ac = arrangement.scaled_ac
        apart_xc = scaled_ac[self.upper[0]] - scaled_ac[self.upper[1]]
        apart_xv = (apart_xc - np.round(apart_xc)) @ arrangement.lattice_cv
        distance_x = np.sqrt((apart_xv**2).sum(1))
        near_x = distance_x < self.reach
        apart_xv, distance_x = apart_xv[near_x], distance_x[near_x]
        energy_x, slope_x = self.pair(distance_x)
        energy_at_end, slope_at_end = self.pair(self.reach)
        energy = (energy_x - energy_at_end - slope_at_end * (distance_x - self.reach)).sum()
        pull_xv = ((slope_x - slope_at_end) / distance_x)[:, None] * apart_xv
        forces_av = np.zeros_like(scaled_ac)
        np.add.at(forces_av, self.upper[0][near_x], -pull_xv)
        np.add.at(forces_av, self.upper[1][near_x], pull_xv)
        return SurfacePoint(arrangement, float(energy), forces_av, apart_xv.T @ pull_xv / arrangement.volume)


class ElasticCrystal(HarmonicCrystal):
    """Springs between scaled coordinates, as long as in the cell of the start, and a cell with elastic constants.

    U = ½ uᵀ A u + ½ B Ω₀ (tr e)² + G Ω₀ |e - tr e/3|², u = (s - s₀) h₀, e = ½ ln FᵀF, F = h₀⁻¹ h.  Atoms and cell are
    independent of each other, so the laws of volume and shape are integrals over one and three numbers.
    """

    def __init__(self, atoms=8, seed=0, bulk=0.5, shear=0.3):
        super().__init__(atoms, seed)
        self.bulk, self.shear = bulk * EDGE**3, shear * EDGE**3  # eV/Å³ times Å³

    def __call__(self, arrangement):
        start = self.start
        moved_x = ((arrangement.scaled_ac - start.scaled_ac) @ start.lattice_cv).ravel()
        push_ac = -(self.hessian @ moved_x).reshape(-1, 3) @ start.lattice_cv.T
        forces_av = push_ac @ np.linalg.inv(arrangement.lattice_cv).T
        deformation_vv = np.linalg.solve(start.lattice_cv, arrangement.lattice_cv)
        square_x, axis_vx = np.linalg.eigh(deformation_vv.T @ deformation_vv)
        strain_x = 0.5 * np.log(square_x)
        total, other_x = strain_x.sum(), strain_x - strain_x.mean()
        energy = 0.5 * moved_x @ self.hessian @ moved_x + self.cell_energy(strain_x)
        stress_vv = (axis_vx * (self.bulk * total + 2 * self.shear * other_x)) @ axis_vx.T / arrangement.volume
        return SurfacePoint(arrangement, energy, forces_av, stress_vv)

    def cell_energy(self, strain_x):
        """Of principal logarithmic strains, the last axis."""
        total = strain_x.sum(-1)
        other_x = strain_x - total[..., None] / 3
        return 0.5 * self.bulk * total**2 + self.shear * (other_x**2).sum(-1)

    def law_of_volume(self, kt, pressure):
        """ln(Ω/Ω₀) and its law's sums; mean and deviation; the mean of |e - tr e/3|² for a cell of any shape.

        P(Ω) ~ Ω^N e^{-(½ B Ω₀ ln²(Ω/Ω₀) + pΩ)/kT}; of the other strains dh Ω⁻³ leaves Π sinh |eᵢ - eⱼ|.
        """
        atoms, volume = len(self.masses_a), EDGE**3
        total_x = np.linspace(-1.0, 1.0, 20001)
        weight_x = (atoms + 1) * total_x - (0.5 * self.bulk * total_x**2 + pressure * volume * np.exp(total_x)) / kt
        weight_x = np.exp(weight_x - weight_x.max())
        mean = (weight_x * total_x).sum() / weight_x.sum()
        spread = np.sqrt((weight_x * (total_x - mean) ** 2).sum() / weight_x.sum())
        first_xy, second_xy = np.meshgrid(*2 * [np.linspace(-0.6, 0.6, 601)], indexing="ij")
        strain_xyx = np.stack([first_xy, second_xy, -first_xy - second_xy], -1)
        measure_xy = np.exp(-self.shear * (strain_xyx**2).sum(-1) / kt)
        for i, j in ((0, 1), (0, 2), (1, 2)):
            measure_xy = measure_xy * np.sinh(np.abs(strain_xyx[..., i] - strain_xyx[..., j]))
        other = (measure_xy * (strain_xyx**2).sum(-1)).sum() / measure_xy.sum()
        return total_x, np.cumsum(weight_x) / weight_x.sum(), mean, spread, other
