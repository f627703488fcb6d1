"""From matrix elements of the relative motion to two-body matrix elements of a nucleus.

V^J(ab, cd) = 2/sqrt((1+d_ab)(1+d_cd)) sum K_ab K_cd <n l S j|V|n' l' S j> over states of centre of mass (N L) and
relative motion with l + S even for like nucleons; the same sum over all l and S without the factor for a proton and a
neutron.  K_ab = sum_Lambda (jj -> LS) (Talmi-Moshinsky bracket) ([(L l) Lambda S] J -> [L (l S) j] J).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.sparse import csr_array

from eigenwerk.ncci.interaction.angular_algebra import nine_j, six_j
from eigenwerk.ncci.interaction.relative_motion.brackets import brackets
from eigenwerk.ncci.interaction.relative_motion.relative import Relative
from eigenwerk.ncci.interaction.two_body import SPECIES, PairSpace, TwoBody
from eigenwerk.ncci.orbitals import Orbitals


def couple(space: PairSpace, relatives: Mapping[str, Relative | None], hw: float) -> TwoBody:
    """Two-body matrix elements at hw (MeV) of the potentials of pp, nn and pn pairs (None: no potential)."""
    highest = max(space.highest_quanta(kind) for kind in SPECIES)
    ready: dict[int, Relative] = {}
    matrices: dict[str, dict[tuple[int, int], np.ndarray]] = {}
    for kind in SPECIES:
        given = relatives.get(kind)
        if given is None:
            matrices[kind] = {key: np.zeros((len(x), len(x))) for key, x in space.pairs(kind).items()}
        elif kind == "nn" and given is relatives.get("pp") and space.pairs("nn") is space.pairs("pp"):
            matrices[kind] = dict(matrices["pp"])
        else:
            relative = ready.setdefault(id(given), given.at(hw, highest))
            matrices[kind] = {key: _channel(space, kind, key, relative) for key in space.pairs(kind)}
    return TwoBody(space, matrices)


def _channel(space: PairSpace, kind: str, key: tuple[int, int], relative: Relative) -> np.ndarray:
    """Matrix of one (J, parity), built from blocks of equal quanta."""
    first, second = space.orbitals(kind)
    pair_x2 = space.pairs(kind)[key]
    quanta_x = first.quanta_a[pair_x2[:, 0]] + second.quanta_a[pair_x2[:, 1]]
    shells = [(q, np.flatnonzero(quanta_x == q)) for q in np.unique(quanta_x).tolist()]
    like = kind != "pn"
    columns = {q: _columns(q, key[0], like) for q, _ in shells}
    maps = {q: _transformation(first, second, pair_x2[x], columns[q], key[0]) for q, x in shells}
    matrix = np.zeros((len(pair_x2), len(pair_x2)))
    for q2, x2 in shells:
        for q1, x1 in shells:
            if q1 <= q2:
                potential = _potential(columns[q1], columns[q2], relative)
                block = maps[q1] @ (potential @ maps[q2].T)
                matrix[np.ix_(x1, x2)] = block
                matrix[np.ix_(x2, x1)] = block.T
    if like:
        norm_x = np.where(pair_x2[:, 0] == pair_x2[:, 1], 1.0, np.sqrt(2.0))
        matrix *= norm_x[:, None] * norm_x
    return matrix


@dataclass(frozen=True, eq=False)
class _Columns:
    """States |[N L, (n l S) j] J> of one Q; arrays."""

    big_n: np.ndarray
    big_l: np.ndarray
    n: np.ndarray
    l: np.ndarray
    s: np.ndarray
    j: np.ndarray


@lru_cache(maxsize=512)
def _columns(quanta: int, total: int, like: bool) -> _Columns:
    grid = np.indices((quanta // 2 + 1, quanta + 1, quanta // 2 + 1, 2, 3)).reshape(5, -1)
    big_n, big_l, n, s, step = grid
    l = quanta - 2 * big_n - big_l - 2 * n
    j = l - s + step
    good = (l >= 0) & (j >= abs(l - s)) & (j <= l + s) & (abs(big_l - j) <= total) & (total <= big_l + j)
    if like:
        good &= (l + s) % 2 == 0
    return _Columns(*(x[good] for x in (big_n, big_l, n, l, s, j)))


def _transformation(first: Orbitals, second: Orbitals, pair_x2: np.ndarray, columns: _Columns, total: int):
    """K_ab as a matrix (pairs, columns), for pairs and columns of the same quanta."""
    a, b = pair_x2.T
    la, lb, ja, jb = first.l_a[a], second.l_a[b], first.twice_j_a[a], second.twice_j_a[b]
    na, nb = first.n_a[a], second.n_a[b]
    quanta = int(2 * na[0] + la[0] + 2 * nb[0] + lb[0])
    result = np.zeros((len(a), len(columns.n)))
    for s in (0, 1):
        mine = np.flatnonzero(columns.s == s)
        big_n, big_l, n, l, j = (getattr(columns, name)[mine] for name in ("big_n", "big_l", "n", "l", "j"))
        for coupled in range(abs(total - s), total + s + 1):
            if coupled > quanta:
                continue
            bracket = brackets(quanta, coupled)
            row, column = bracket.positions(na, la, nb, lb), bracket.positions(big_n, big_l, n, l)
            pair = np.sqrt((ja + 1) * (jb + 1) * (2 * coupled + 1) * (2 * s + 1.0))
            pair = pair * nine_j(2 * la, 1, ja, 2 * lb, 1, jb, 2 * coupled, 2 * s, 2 * total) * (row >= 0)
            sign = 1 - 2 * ((big_l + l + s + total) % 2)
            turn = six_j(2 * big_l, 2 * l, 2 * coupled, 2 * s, 2 * total, 2 * j) * (column >= 0)
            turn = turn * sign * np.sqrt((2 * coupled + 1) * (2 * j + 1.0))
            part = bracket.matrix_xx[np.ix_(row, column)] if len(bracket.matrix_xx) else 0.0
            result[:, mine] += pair[:, None] * part * turn
    return result


def _potential(rows: _Columns, columns: _Columns, relative: Relative) -> csr_array:
    """<N L n l S j|V|N L n' l' S j> as a sparse matrix between the columns of two values of Q."""
    place = {state: at for at, state in enumerate(zip(*_fields(columns), strict=True))}
    found: list[tuple[int, int, float]] = []
    quanta = int(2 * columns.big_n[0] + columns.big_l[0] + 2 * columns.n[0] + columns.l[0]) if len(columns.n) else 0
    for at, (big_n, big_l, n, l, s, j) in enumerate(zip(*_fields(rows), strict=True)):
        for lp in (l,) if s == 0 else (l - 2, l, l + 2):
            matrix = relative.element(j, s, l, lp)
            n_new, odd = divmod(quanta - 2 * big_n - big_l - lp, 2)
            if matrix is None or odd or n_new < 0 or n >= matrix.shape[0] or n_new >= matrix.shape[1]:
                continue
            other = place.get((big_n, big_l, n_new, lp, s, j))
            if other is not None:
                found.append((at, other, matrix[n, n_new]))
    row, column, value = zip(*found, strict=True) if found else ((), (), ())
    return csr_array((np.array(value, float), (row, column)), shape=(len(rows.n), len(columns.n)))


def _fields(columns: _Columns) -> list[list[int]]:
    return [getattr(columns, name).tolist() for name in ("big_n", "big_l", "n", "l", "s", "j")]
