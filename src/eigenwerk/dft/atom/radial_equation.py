"""Bound states in a spherical potential, scalar-relativistic, as eigenvectors of tridiagonal matrices.

For ψ = u(r)/r Y_lm, with x = 1/2c² and M(r) = 1 + x (e - v) (M = 1, x = 0 without relativity):

    -u'' + [l (l+1)/r² + 2 M (v - e)] u - x v'/M (u' - u/r) = 0

Source: D. D. Koelling and B. N. Harmon, J. Phys. C 10, 3107 (1977), without the small component in the norm.  Central
differences in the grid index make it tridiagonal: with M of the last energy, a matrix whose products of neighbours
across the diagonal are positive, so that a scaling of rows makes it symmetric.  The customary scheme of the programs
that make data sets, on the data sets' own grids: its errors are theirs, too.
"""

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.linalg import eigh_tridiagonal

from eigenwerk.dft.paw.radial import derivative
from eigenwerk.errors import ConvergenceError, InputError
from eigenwerk.io.paw.radial_grid import RadialGrid

INVERSE_C = 1 / 137.035999084
"""The fine-structure constant: 1/c in atomic units."""

ROUNDS, SAME, SAME_SHARE = 200, 1e-7, 1e-9
"""An energy (hartree) is found when it comes back to within SAME and this share of it, which changes M by 3e-12; the
solver of the matrix is good to 1e-8.  In ROUNDS at most; ten are usual."""


def bound_states(
    grid: RadialGrid, potential_g: np.ndarray, l: int, count: int, relativistic: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """The lowest states of one angular momentum: energies (n,), hartree, and u (n, g) with Σ_g u² dr = 1.

    potential_g: r v(r), hartree bohr; grid: from r = 0.  Raises InputError for a grid too coarse near the nucleus.
    """
    equation = _Equation(grid, potential_g, l, 0.5 * INVERSE_C**2 if relativistic else 0.0)
    states = [equation.state(n) for n in range(count)]
    return np.array([energy for energy, _ in states]), np.stack([u_g for _, u_g in states])


class _Equation:
    """The radial equation on the points beyond the nucleus (axis g), u = 0 at r = 0 and behind the last point."""

    def __init__(self, grid: RadialGrid, potential_g: np.ndarray, l: int, x: float):
        self.grid, self.l, self.x = grid, l, x
        self.r_g, self.dr_g, self.v_g = grid.r_g[1:], grid.dr_g[1:], potential_g[1:]
        index_g = np.arange(len(grid.r_g))
        bend_g = CubicSpline(index_g, grid.dr_g)(index_g, 1)[1:]
        # r² v', r² (dg/dr)² and -r² d²g/dr² of the grid index g
        self.slope_g = (grid.r_g * derivative(grid, potential_g) - potential_g)[1:]
        self.second_g = (self.r_g / self.dr_g) ** 2
        self.first_g = self.r_g**2 * bend_g / self.dr_g**3

    def state(self, n: int) -> tuple[float, np.ndarray]:
        """Number n from below."""
        energy = change = 0.0
        for _ in range(ROUNDS):
            found, u_g = self._with_mass(energy, n)
            if abs(found - energy) <= SAME + SAME_SHARE * abs(found):
                u_g = np.concatenate([[0.0], u_g])
                return found, u_g / np.sqrt(u_g**2 @ self.grid.dr_g)
            change, energy = found - energy, found
        raise ConvergenceError(
            f"the energy of radial state {n + 1} of l = {self.l} still changes by {abs(change):.1e} hartree "
            f"after {ROUNDS} rounds: the potential of this atom is not sound. Use another data set."
        )

    def _with_mass(self, energy: float, n: int) -> tuple[float, np.ndarray]:
        """Energy and u with M of an energy given."""
        mass_g = self.r_g * (1 + self.x * energy) - self.x * self.v_g  # r M
        bent_g = self.x * self.slope_g / mass_g
        first_g = self.first_g - bent_g * self.r_g / self.dr_g
        scale_g = 2 * mass_g * self.r_g
        diagonal_g = (self.l * (self.l + 1) + 2 * mass_g * self.v_g + bent_g + 2 * self.second_g) / scale_g
        up_g = ((0.5 * first_g - self.second_g) / scale_g)[:-1]
        down_g = ((-0.5 * first_g - self.second_g) / scale_g)[1:]
        if (np.maximum(up_g, down_g) >= 0).any():
            raise InputError(
                f"the radial grid {self.grid.eq or ''} of {len(self.grid.r_g)} points is too coarse near the nucleus "
                "to find core orbitals on it. Use a data set of gpaw-data, or remove CORE_EXCHANGE."
            )
        energy_n, y_gn = eigh_tridiagonal(diagonal_g, -np.sqrt(up_g * down_g), select="i", select_range=(n, n))
        log_g = np.concatenate([[0.0], np.cumsum(0.5 * np.log(down_g / up_g))])
        return float(energy_n[0]), y_gn[:, 0] * np.exp(log_g - log_g.max())
