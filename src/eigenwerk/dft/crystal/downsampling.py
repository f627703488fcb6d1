"""A part of the differences between the points of a mesh, for sums over pairs of points that need fewer than all.

Of the differences q = Σ_c n_c b_c / N_c those are kept whose n_c are multiples of a divisor C_c of N_c, or whose
Σ_c n_c is even or odd.  Each point is then paired with as many others, and pairs are mutual, so that an energy summed
over them is a function of the orbitals like any other.  (numpy only: `check` uses it without torch.)
"""

from dataclasses import dataclass

import numpy as np

from eigenwerk.dft.crystal.kpoints import KPoints

EVEN, ODD = 0, 1
WORDS = {EVEN: "even", ODD: "odd"}


@dataclass(frozen=True)
class Downsampling:
    """divisors: C along the three axes; parity: `EVEN`, `ODD` or None for both."""

    divisors: tuple[int, int, int] = (1, 1, 1)
    parity: int | None = None

    @property
    def times_fewer(self) -> int:
        """All differences over those kept."""
        return int(np.prod(self.divisors)) * (1 if self.parity is None else 2)

    def kept(self, difference_xc: np.ndarray, mesh: tuple[int, int, int]) -> np.ndarray:
        """Which of some differences of points of a mesh are kept; (x,)."""
        step_xc = np.rint(difference_xc * np.array(mesh)).astype(int)
        kept_x = (step_xc % np.array(self.divisors) == 0).all(1)
        if self.parity is not None:
            # an axis of one point has whole reciprocal vectors only
            kept_x &= step_xc[:, np.array(mesh) > 1].sum(1) % 2 == self.parity
        return np.asarray(kept_x)

    def cells(self, mesh: tuple[int, int, int]) -> np.ndarray:
        """Integers that make of the cell the one in which all waves of the kept differences are periodic; (3, 3).

        Raises ValueError for odd ones, which are no lattice.
        """
        if self.parity == ODD:
            raise ValueError("odd differences are no lattice")
        cells_cc = np.diag(np.array(mesh) // np.array(self.divisors))
        if self.parity == EVEN:
            last = max(c for c in range(3) if mesh[c] > 1)
            cells_cc[last] = [size // 2 if size > 1 else 0 for size in mesh]
        return cells_cc

    def fault(self, kpoints: KPoints) -> str:
        """Why a mesh cannot be taken apart so, in words; empty if it can."""
        mesh = kpoints.mesh
        if mesh is None or kpoints.cells_cc is None or kpoints.irreducible_of_full is None:
            return f"it needs a regular mesh of k-points, and this is the {kpoints.source}"
        shown = " x ".join(map(str, mesh))
        uneven = [c for c in range(3) if mesh[c] % self.divisors[c]]
        if uneven:
            axis = uneven[0]
            return f"{self.divisors[axis]} does not divide the {mesh[axis]} points of {shown} along axis {axis + 1}"
        if self.parity is not None and any(size > 1 and size % 2 for size in mesh):
            return f"{WORDS[self.parity]} is said of an even number of points, and the mesh is {shown}"
        if self.parity is not None and max(mesh) == 1:
            return "there is one k-point"
        if not self._symmetric(kpoints, mesh):
            return "the q-points that are left do not have the symmetry of the crystal"
        return ""

    def _symmetric(self, kpoints: KPoints, mesh: tuple[int, int, int]) -> bool:
        axes = [np.arange(size) / size for size in mesh]
        difference_xc = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, 3)
        kept_x = self.kept(difference_xc, mesh)
        of_mesh = slice(None) if kpoints.kept_o is None else kpoints.kept_o
        matrix_occ = kpoints.symmetry.reciprocal_occ[of_mesh]
        turned = (self.kept(difference_xc @ matrix_cc.T, mesh) for matrix_cc in matrix_occ)
        return all(np.array_equal(kept_x, other_x) for other_x in turned)
