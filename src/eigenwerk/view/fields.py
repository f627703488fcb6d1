"""Numbers of a field on a grid for pictures: values on a plane, and averages over planes.

    v̄(s) = 1/(N₁N₂) Σ v(s, n₁, n₂)

over all points of a plane across lattice axis c at fractional coordinate s.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.ndimage import map_coordinates

from eigenwerk.errors import InputError
from eigenwerk.io.vasp.input.poscar import Poscar
from eigenwerk.io.vasp.volumetric import read_volumetric

FIELD_FILES = ("CHGCAR", "CHG", "LOCPOT", "ELFCAR", "AECCAR0", "AECCAR1", "AECCAR2", "PARCHG")

NEAR = 0.15
"""Atoms closer to a plane than this (Å) lie in it."""

SHOWN = 5.0
"""A plane is repeated until it is as wide (Å)."""

POINTS = 360
"""Points of the longer side of a picture of a plane."""

WIDE_GAP = 6.0
"""An empty layer from this width on (Å) is a vacuum."""


@dataclass(frozen=True, eq=False)
class Field:
    """One field of a file: values (R, R, R) in `unit` on the grid of a structure; name, and what it is.

    signed: whether zero is in the middle of its values; logarithmic: whether these spread over powers of ten.
    """

    name: str
    what: str
    unit: str
    value_R: np.ndarray
    poscar: Poscar
    signed: bool = False
    logarithmic: bool = False


@dataclass(frozen=True, eq=False)
class Plane:
    """A rectangle to look at: a corner, two directions of unit length across each other, and lengths (Å).

    words: where it lies.
    """

    origin_v: np.ndarray
    right_v: np.ndarray
    up_v: np.ndarray
    size: tuple[float, float]
    words: str


def is_field(name: str) -> bool:
    """Whether a file of this name holds a field."""
    return name in FIELD_FILES or name.startswith("PARCHG.")


def read_fields(path: Path) -> list[Field]:
    """The fields of a file in the units of pictures.  Raises InputError as `read_volumetric` does."""
    head, content = read_volumetric(path)
    values, poscar = [block.value_R for block in content.blocks], head.poscar
    kind = path.name.split(".")[0].upper()
    if kind.startswith("LOCPOT"):
        names = ["electrostatic potential"] if len(values) == 1 else ["potential, spin up", "potential, spin down"]
        return [Field(path.name, name, "eV", value, poscar) for name, value in zip(names, values, strict=False)]
    if kind.startswith("ELF"):
        names = ["ELF"] if len(values) == 1 else ["ELF, spin up", "ELF, spin down"]
        return [Field(path.name, name, "", value, poscar) for name, value in zip(names, values, strict=False)]
    names = ["electron density", "magnetisation density"] if len(values) < 3 else [
        "electron density", *(f"magnetisation density {v}" for v in "xyz")]  # fmt: skip
    units = ["electrons/Å³", *["μB/Å³"] * 3]
    return [
        Field(path.name, what, unit, value / poscar.volume, poscar, signed=place > 0, logarithmic=place == 0)
        for place, (what, unit, value) in enumerate(zip(names, units, values, strict=False))
    ]


def planar_average(field: Field, axis: int) -> tuple[np.ndarray, np.ndarray]:
    """Distance along the normal of the planes across an axis (Å), and the average over each; both (x,)."""
    others = tuple(c for c in range(3) if c != axis)
    mean_x = field.value_R.mean(axis=others)
    return np.arange(len(mean_x)) / len(mean_x) * spacing(field.poscar, axis), mean_x


def spacing(poscar: Poscar, axis: int) -> float:
    """Distance between repeated planes across an axis, Å."""
    return float(1 / np.linalg.norm(np.linalg.inv(poscar.lattice_cv)[:, axis]))


def vacuum_of(poscar: Poscar) -> tuple[int, float, float] | None:
    """Axis, middle (fractional) and width (Å) of the vacuum of a slab: if exactly one axis has one."""
    found = []
    for axis in range(3):
        s_a = np.sort(poscar.scaled_ac[:, axis] % 1.0)
        gap_a = np.diff(np.append(s_a, s_a[0] + 1.0))
        widest = int(gap_a.argmax())
        if gap_a[widest] * spacing(poscar, axis) > WIDE_GAP:
            middle = (s_a[widest] + gap_a[widest] / 2) % 1.0
            found.append((axis, float(middle), float(gap_a[widest]) * spacing(poscar, axis)))
    return found[0] if len(found) == 1 else None


def best_axis(poscar: Poscar) -> int:
    """The axis across which planes are looked at: that of a vacuum, else the one with most atoms in one plane."""
    slab = vacuum_of(poscar)
    return slab[0] if slab else max((2, 1, 0), key=lambda axis: _fullest(poscar, axis)[0])


def _fullest(poscar: Poscar, axis: int) -> tuple[int, float]:
    """Most atoms in one plane across an axis, and where it lies."""
    s_a = poscar.scaled_ac[:, axis] % 1.0
    away_aa = np.abs((s_a[:, None] - s_a + 0.5) % 1.0 - 0.5) * spacing(poscar, axis)
    count_a = (away_aa < NEAR).sum(axis=1)
    place = int(count_a.argmax())
    return int(count_a[place]), float(s_a[place])


def lattice_plane(poscar: Poscar, axis: int, at: float | None = None) -> Plane:
    """The plane across an axis (from 0) at a fractional coordinate; by itself through most atoms."""
    s = _fullest(poscar, axis)[1] if at is None else at % 1.0
    first, second = (poscar.lattice_cv[c] for c in range(3) if c != axis)
    first, second = (edge_v * max(1, np.ceil(SHOWN / np.linalg.norm(edge_v) - 0.05)) for edge_v in (first, second))
    right_v = first / np.linalg.norm(first)
    up_v = second - (second @ right_v) * right_v
    up_v /= np.linalg.norm(up_v)
    x, y = np.linalg.norm(first), second @ up_v
    lean = float(second @ right_v)
    origin_v = s * poscar.lattice_cv[axis] + min(lean, 0.0) * right_v
    return Plane(origin_v, right_v, up_v, (float(x) + abs(lean), float(y)), f"plane across axis {axis + 1} at {s:.3f}")


def atom_plane(poscar: Poscar, atoms: tuple[int, int, int]) -> Plane:
    """The plane through three atoms (numbers from 1), each the image that is nearest to the first.

    Raises InputError for atoms that are not there, or lie on a line.
    """
    words = ",".join(map(str, atoms))
    if min(atoms) < 1 or max(atoms) > len(poscar.symbols):
        raise InputError(f"--atoms {words}: there are atoms 1 to {len(poscar.symbols)}.")
    scaled_ac = poscar.scaled_ac[np.array(atoms) - 1]
    away_ac = scaled_ac - scaled_ac[0]
    away_av = (away_ac - np.rint(away_ac)) @ poscar.lattice_cv
    first, second = away_av[1], away_av[2]
    normal_v = np.cross(first, second)
    if np.linalg.norm(normal_v) <= 1e-3 * np.linalg.norm(first) * np.linalg.norm(second):
        raise InputError(f"--atoms {words}: these lie on one line. Name three atoms that span a plane.")
    right_v = first / np.linalg.norm(first)
    up_v = np.cross(normal_v, right_v)
    up_v /= np.linalg.norm(up_v)
    middle_v = scaled_ac[0] @ poscar.lattice_cv + away_av.mean(axis=0)
    size = max(SHOWN, 1.8 * float(np.abs(away_av - away_av.mean(axis=0)).max()) + 2.0)
    return Plane(middle_v - size / 2 * (right_v + up_v), right_v, up_v, (size, size), f"plane through atoms {words}")


def on_plane(field: Field, plane: Plane) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Coordinates (Å) along both directions and the values between the grid points, linearly; (y, x)."""
    step = max(plane.size) / POINTS
    x, y = (np.linspace(0.0, size, max(2, round(size / step))) for size in plane.size)
    point_yxv = plane.origin_v + x[None, :, None] * plane.right_v + y[:, None, None] * plane.up_v
    scaled_cyx = np.moveaxis(point_yxv @ np.linalg.inv(field.poscar.lattice_cv), -1, 0)
    index_cyx = scaled_cyx * np.array(field.value_R.shape)[:, None, None]
    return x, y, map_coordinates(field.value_R, index_cyx, order=1, mode="grid-wrap")


def atoms_on(poscar: Poscar, plane: Plane) -> list[tuple[str, float, float]]:
    """Element and place of all images of atoms that lie in a plane."""
    normal_v = np.cross(plane.right_v, plane.up_v)
    reach = int(np.ceil(2 * max(plane.size) / min(spacing(poscar, c) for c in range(3)))) + 1
    shift_tc = np.stack(np.meshgrid(*[np.arange(-reach, reach + 1)] * 3, indexing="ij"), -1).reshape(-1, 3)
    found = []
    for symbol, scaled_c in zip(poscar.symbols, poscar.scaled_ac, strict=True):
        away_tv = (scaled_c % 1.0 + shift_tc) @ poscar.lattice_cv - plane.origin_v
        x_t, y_t = away_tv @ plane.right_v, away_tv @ plane.up_v
        near_t = np.abs(away_tv @ normal_v) < NEAR
        for value_t, size in ((x_t, plane.size[0]), (y_t, plane.size[1])):
            near_t &= (value_t > -0.01) & (value_t < size + 0.01)
        found += [(symbol, float(x), float(y)) for x, y in zip(x_t[near_t], y_t[near_t], strict=True)]
    return found
