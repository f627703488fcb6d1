"""What stored blocks are made of: matrix elements by four states, and the jumps of both species.

They are the same on all ranks, which have them in common on a machine.
"""

from dataclasses import dataclass, fields, is_dataclass
from typing import Any, TypeVar

import numpy as np
import torch

from eigenwerk.ncci.basis.basis_pairs import BasisPairs
from eigenwerk.ncci.basis.determinants import Determinants
from eigenwerk.ncci.basis.elements import Elements, elements
from eigenwerk.ncci.basis.jumps import Jumps, one_jumps, stable_order, two_jumps
from eigenwerk.ncci.basis.manybody import ManyBodyBasis
from eigenwerk.ncci.device_arrays import tensor
from eigenwerk.parallel.communicator import Communicator
from eigenwerk.parallel.memory.main_memory import give_back_freed_memory
from eigenwerk.parallel.memory.node_arrays import Arrays, once_per_node
from eigenwerk.parallel.serial import ALONE

Tree = TypeVar("Tree")


@dataclass(frozen=True, eq=False)
class SpeciesJumps:
    """Jumps inside one species that leave its 2M and parity.

    same: of one nucleon, row > column.  mean_z: the sum of <c s|V|c' s> over the other nucleons of the species, phase
    included.  two, value_z: jumps of two nucleons, row > column, and their matrix elements in the number type of
    entries; only those that some J can couple.
    """

    same: Jumps
    mean_z: np.ndarray
    two: Jumps
    value_z: np.ndarray


@dataclass(frozen=True, eq=False)
class OrderedJumps:
    """All jumps of one neutron by the buckets (2M, parity) of row and column, inside by the row.

    bucket_d: the bucket of each determinant, of `buckets` in all; cut_k: where the jumps from bucket c to r begin,
    k = r * buckets + c.  Determinants int32, states int16, signs int8.
    """

    bucket_d: np.ndarray
    cut_k: np.ndarray
    row_z: np.ndarray
    column_z: np.ndarray
    out_z: np.ndarray
    into_z: np.ndarray
    sign_z: np.ndarray

    @property
    def buckets(self) -> int:
        """How many there are."""
        return int(self.bucket_d.max(initial=0)) + 1


@dataclass(frozen=True, eq=False)
class Tables:
    """All of it.  one_proton: all jumps of one proton, ordered by the row."""

    mixed: Elements
    protons: SpeciesJumps
    neutrons: SpeciesJumps
    one_proton: Jumps
    one_neutron: OrderedJumps


def tables(
    basis: ManyBodyBasis, pairs: BasisPairs, dtype: torch.dtype, device: torch.device, comm: Communicator = ALONE
) -> Tables:
    """Those of a Hamiltonian for entries of this type, sought on a device by one rank of each machine; collective."""
    found = once_per_node(comm, lambda: _flat("", _made(basis, pairs, dtype, device)))
    give_back_freed_memory()
    return _tree(Tables, "", found)


def _made(basis: ManyBodyBasis, pairs: BasisPairs, dtype: torch.dtype, device: torch.device) -> Tables:
    own_p, own_n = elements(basis, pairs, "pp"), elements(basis, pairs, "nn")
    one = one_jumps(basis.protons, device)
    protons = species_jumps(basis.protons, one, own_p, dtype, device)
    same = basis.protons is basis.neutrons and np.array_equal(own_p.flat_z, own_n.flat_z, equal_nan=True)
    one_neutron = one if basis.protons is basis.neutrons else one_jumps(basis.neutrons, device)
    neutrons = protons if same else species_jumps(basis.neutrons, one_neutron, own_n, dtype, device)
    ordered = _ordered(basis.neutrons, one_neutron, device)
    return Tables(elements(basis, pairs, "pn"), protons, neutrons, one, ordered)


def species_jumps(
    determinants: Determinants, one: Jumps, own: Elements, dtype: torch.dtype, device: torch.device
) -> SpeciesJumps:
    """All jumps of a species; `own` are the matrix elements between two of its nucleons, `one` its jumps of one."""
    bucket_d = determinants.twice_m_d * 2 + determinants.parity_d
    same = one.take((bucket_d[one.row_z] == bucket_d[one.column_z]) & (one.row_z > one.column_z))
    out, into = same.out_zi[:, 0].astype(np.int64), same.into_zi[:, 0].astype(np.int64)
    mean_z = np.zeros(len(same))
    for state_d in determinants.occupied_di.T:
        other = state_d[same.row_z].astype(np.int64)
        mean_z += own.ordered(out, other, into, other)
    two = two_jumps(determinants, device)
    value_z = _own_values(two, own, dtype, device)
    coupled = ~np.isnan(value_z)
    return SpeciesJumps(same, mean_z * same.sign_z, two.take(coupled), value_z[coupled])


def _own_values(two: Jumps, own: Elements, dtype: torch.dtype, device: torch.device) -> np.ndarray:
    """Matrix elements of jumps of two like nucleons with their phases, NaN where no J couples them."""
    flat, row_x, column_x = (tensor(table, device) for table in (own.flat_z, own.row_xx.ravel(), own.column_xx.ravel()))
    value_z = torch.empty(len(two), dtype=dtype).numpy()
    for at in range(0, len(two), 1 << 24):
        part = slice(at, at + (1 << 24))
        ends = [tensor(z[part].astype(np.int32), device) for z in (two.out_zi, two.into_zi)]
        out, into = (states[:, 0] * len(own.row_xx) + states[:, 1] for states in ends)
        value = flat[row_x[out] + column_x[into]] * tensor(two.sign_z[part], device)
        value_z[part] = value.to(dtype).cpu().numpy()
    return value_z


def _ordered(neutrons: Determinants, jumps: Jumps, device: torch.device) -> OrderedJumps:
    bucket_d = np.unique(neutrons.twice_m_d * 2 + neutrons.parity_d, return_inverse=True)[1]
    buckets, on_device = int(bucket_d.max(initial=0)) + 1, tensor(bucket_d, device)
    states = (jumps.out_zi[:, 0].astype(np.int16), jumps.into_zi[:, 0].astype(np.int16))
    found = [tensor(array, device) for array in (jumps.row_z, jumps.column_z, *states, jumps.sign_z)]
    key_z = on_device[found[0]] * buckets + on_device[found[1]]
    order = stable_order(key_z)
    cut_k = np.searchsorted(key_z[order].cpu().numpy(), np.arange(buckets**2 + 1))
    return OrderedJumps(bucket_d, cut_k, *(array[order].cpu().numpy() for array in found))


def _flat(name: str, tree: Any) -> Arrays:
    """The arrays of nested dataclasses by their names."""
    if not is_dataclass(tree):
        return {name: tree}
    found: Arrays = {}
    for field in fields(tree):
        found |= _flat(f"{name}.{field.name}", getattr(tree, field.name))
    return found


def _tree(kind: type[Tree], name: str, arrays: Arrays) -> Tree:
    """The way back."""
    parts = {
        field.name: _tree(field.type, f"{name}.{field.name}", arrays)
        if is_dataclass(field.type) and isinstance(field.type, type)
        else arrays[f"{name}.{field.name}"]
        for field in fields(kind)  # type: ignore[arg-type]
    }
    return kind(**parts)
