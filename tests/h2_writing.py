"""Files of two-body matrix elements as MFDn has them, made from an operator: what readers are tried on."""

import struct

import numpy as np

from eigenwerk.io.ncci.h2 import NEW_ORDER
from eigenwerk.io.ncci.h2_data import KINDS, NEW_VERSION, H2Data, H2Header
from eigenwerk.ncci.interaction.two_body import TwoBody


def h2_bytes(data: H2Data) -> bytes:
    """The content of a binary file of version 15200 (single precision)."""
    header = data.header
    protons, neutrons = header.orbital_3a_p.shape[1], header.orbital_3a_n.shape[1]
    labels = np.concatenate([header.orbital_3a_p, header.orbital_3a_n], axis=1)
    charges = np.repeat([1, -1], [protons, neutrons])
    parts = [
        struct.pack("<5i", 4, NEW_VERSION, 4, protons, neutrons),
        np.concatenate([labels, charges[None]]).astype("<i4").tobytes(),
        np.concatenate([header.weight_p, header.weight_n]).astype("<f4").tobytes(),
        struct.pack("<3i3f", 0, 0, 0, *(header.limits[kind] for kind in NEW_ORDER)),
        struct.pack("<3q", *(header.count(kind) for kind in NEW_ORDER)),
        *(pack(data, kind).astype("<f4").tobytes() for kind in NEW_ORDER),
    ]
    return b"".join(parts)


def pack(data: H2Data, kind: str) -> np.ndarray:
    """Elements of one kind in the order of the file."""
    parts = [matrix[np.triu_indices(len(matrix))] for matrix in data.matrices[kind].values()]
    return np.concatenate([np.zeros(0), *parts])


def h2_from_two_body(two_body: TwoBody) -> H2Data:
    """What an h2 file of an operator holds."""
    space = two_body.space
    rows = [[x.n_a, x.l_a, x.twice_j_a] for x in (space.orbitals_p, space.orbitals_n)]
    weights = [
        given if given is not None else orbitals.quanta_a
        for given, orbitals in ((space.weight_p, space.orbitals_p), (space.weight_n, space.orbitals_n))
    ]
    limits = {
        kind: min(getattr(space, f"max_quanta_{kind}"), float(sum(max(w) for w in _weights_of(kind, weights))))
        for kind in KINDS
    }
    header = H2Header(np.array(rows[0]), np.array(rows[1]), np.array(weights[0]), np.array(weights[1]), limits)
    return H2Data(header, {kind: dict(two_body.matrices[kind]) for kind in KINDS})


def _weights_of(kind: str, weights: list) -> list:
    return [weights["pn".index(letter)] for letter in kind]
