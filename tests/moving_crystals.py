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
