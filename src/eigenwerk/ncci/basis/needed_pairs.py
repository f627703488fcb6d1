"""Which pairs of m-states the states of a truncation hold; known without any matrix element."""

import numpy as np

from eigenwerk.ncci.basis.determinants import lowest_weight
from eigenwerk.ncci.basis.space import ManyBodySpace

KINDS = ("pp", "nn", "pn")


def pair_weights(space: ManyBodySpace, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Weights of the m-states of the first and the second nucleon."""
    weights = {"p": space.weight_p_x, "n": space.weight_n_x}
    return weights[kind[0]], weights[kind[1]]


def needed_pairs(space: ManyBodySpace, kind: str) -> np.ndarray:
    """(states, states) True for the pairs that occur together in a state of the truncation."""
    limits = space.truncation
    left = {"p": space.protons - kind.count("p"), "n": space.neutrons - kind.count("n")}
    weight_1, weight_2 = pair_weights(space, kind)
    if min(left.values()) < 0:
        return np.zeros((len(weight_1), len(weight_2)), dtype=bool)
    rest_p, rest_n = lowest_weight(space.weight_p_x, left["p"]), lowest_weight(space.weight_n_x, left["n"])
    pair_xx = np.add.outer(weight_1, weight_2)
    if kind == "pn":
        fits = (weight_1 <= limits.max_p - rest_p)[:, None] & (weight_2 <= limits.max_n - rest_n)
        return fits & (pair_xx <= limits.max_total - rest_p - rest_n)
    own, rest = (limits.max_p, rest_p) if kind == "pp" else (limits.max_n, rest_n)
    return np.triu(pair_xx <= min(own - rest, limits.max_total - rest_p - rest_n), 1)
