"""Non-local correlation the plain way: all nodes at once, whole grids, complex FFTs; derivatives by PyTorch.

The slow twin of `correlation`, for tests and for grids that belong to no basis.
"""

from math import inf

import numpy as np
import torch

from eigenwerk.dft.non_local.correlation import Nodes
from eigenwerk.dft.non_local.kernel import kernel_table
from eigenwerk.functionals.non_local import NonLocal, wave_vector, weight
from eigenwerk.functionals.pbe import GGA_FLOOR


def energy(
    density_sR: torch.Tensor, sigma_yR: torch.Tensor, lattice_cv: np.ndarray, non_local: NonLocal, longest: float = inf
) -> torch.Tensor:
    """E in hartree of densities and their gradients' products on the points of a cell (bohr, rows); differentiable.

    longest: length of the last g that counts, bohr⁻¹.
    """
    q_R = wave_vector(non_local).energy(density_sR.flatten(1), sigma_yR.flatten(1))
    total_R = density_sR.flatten(1).sum(0)
    q_R = q_R.where(total_R > GGA_FLOOR, q_R.detach())
    weight_R, table = weight(non_local, total_R)[0], kernel_table(non_local.kernel)
    nodes = Nodes.of(table.mesh, q_R.device)
    interval_R, _ = nodes.placed(q_R.detach())
    distance_R = q_R - nodes.node_u[interval_R]
    cubic_puR = nodes.cubic_upx[:, :, interval_R].transpose(0, 1)
    basis_uR = cubic_puR[0] + distance_R * (cubic_puR[1] + distance_R * (cubic_puR[2] + distance_R * cubic_puR[3]))
    size_c = density_sR.shape[1:]
    theta_ug = torch.fft.fftn((weight_R * basis_uR).unflatten(1, size_c), dim=(1, 2, 3), norm="forward").flatten(1)
    index_c = [np.rint(np.fft.fftfreq(size) * size) for size in size_c]
    index_gc = np.stack(np.meshgrid(*index_c, indexing="ij"), -1).reshape(-1, 3)
    length_g = np.linalg.norm(index_gc @ (2 * np.pi * np.linalg.inv(lattice_cv).T), axis=1)
    phi_guw = torch.from_numpy(table.at(length_g) * (length_g <= longest * (1 + 1e-12))[:, None, None])
    field_ug = torch.einsum("guw,wg->ug", phi_guw.to(theta_ug.dtype), theta_ug)
    return 0.5 * abs(np.linalg.det(lattice_cv)) * (theta_ug.conj() * field_ug).sum().real
