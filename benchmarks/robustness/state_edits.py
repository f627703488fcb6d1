"""Edits states of small runs, with checksums that fit, and goes on from them: a run or an InputError, nothing else.

    OMP_NUM_THREADS=1 python benchmarks/robustness/state_edits.py                # 500 edits
    python benchmarks/robustness/state_edits.py --count 50 --first 200 --seed 3

Edit number i is made from the seed and i alone, so any one of them can be made again.
"""

import argparse
import random
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from eigenwerk import __version__
from eigenwerk.dft.runs.run import run_folder
from eigenwerk.dft.runs.saving.checkpoint import GROUPS
from eigenwerk.errors import InputError
from eigenwerk.io.hdf5.hdf5_state import read_state, seal, write_state

POSCAR = "silicon\n5.43\n0 .5 .5\n.5 0 .5\n.5 .5 0\nSi\n2\nDirect\n0 0 0\n.25 .25 {last}\n"
INCAR = {"ENCUT": 100, "EDIFF": "1E-9", "ISMEAR": 0, "SIGMA": 0.05, "NBANDS": 6, "NELM": 4}
BASES: tuple[dict[str, Any], ...] = ({}, {"ISPIN": 2, "MAGMOM": "0.5 0.5"})
"""Tags of the runs whose states are edited."""

LATER: tuple[dict[str, Any], ...] = (
    {"ISTART": 1}, {"ISTART": 1}, {"ISTART": 0, "ICHARG": 1}, {"ISTART": 1, "ENCUT": 120}, {"ISTART": 1, "last": 0.26},
    {"ISTART": 1, "NBANDS": 8}, {"ISTART": 1, "ISPIN": 2, "MAGMOM": "0.5 0.5"}, {"ISTART": 1, "ISPIN": 1},
)  # fmt: skip
"""What the runs that go on change."""

SECONDS = 60
"""Longest that one of them may take."""

STRANGE: tuple[Any, ...] = (
    None, True, -1, 0, 2**62, 1e300, float("nan"), float("inf"), "", "word", "a\0b", [], (), [1, 2], ["a"], {},
    {"a": 1},    np.zeros(0), np.zeros((2, 2)), np.array(["a", "b"]), np.array(3.0), np.zeros((3, 3, 3, 3)), 1j,
)  # fmt: skip


def make_folder(path: Path, last: float = 0.25, **tags: Any) -> Path:
    """A small folder."""
    path.mkdir(parents=True, exist_ok=True)
    (path / "POSCAR").write_text(POSCAR.format(last=last))
    (path / "KPOINTS").write_text("mesh\n0\nGamma\n2 1 1\n")
    (path / "INCAR").write_text("".join(f"{tag} = {value}\n" for tag, value in (INCAR | tags).items()))
    return path


def base_states(folder: Path) -> list[dict[str, Any]]:
    """States of runs that have not converged, so that there is a memory of the mixer."""
    trees = []
    for number, tags in enumerate(BASES):
        path = make_folder(folder / f"base{number}", **tags)
        run_folder(path)
        trees.append(read_state(path / "eigenwerk.h5"))
    return trees


# --- edits of the tree -----------------------------------------------------------------------------------------------


def parts_of(tree: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The places of all parts of a tree."""
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    return [place for key, part in items for place in [(*path, key), *parts_of(part, (*path, key))]]


def at(tree: Any, place: tuple[Any, ...]) -> Any:
    """The part at a place."""
    for key in place:
        tree = tree[key]
    return tree


def copied(tree: Any) -> Any:
    """A copy whose groups and arrays can be changed."""
    if isinstance(tree, dict):
        return {name: copied(part) for name, part in tree.items()}
    if isinstance(tree, list):
        return [copied(part) for part in tree]
    return tree.copy() if isinstance(tree, np.ndarray) else tree


def edit_array(array: np.ndarray, draw: random.Random) -> Any:
    """Another type, another shape, other numbers."""
    flat, number = array.reshape(-1).copy(), draw.choice([np.nan, np.inf, -1, 0, 1e300, 1e-300, 1e6, -1e12, 2**31 - 1])
    if array.dtype.kind == "U" or array.size == 0:
        return draw.choice(STRANGE)
    with np.errstate(all="ignore"):
        if draw.random() < 0.4:
            if array.dtype.kind in "iu" and not np.isfinite(number):
                number = -7
            if array.dtype.kind in "iu":
                number = int(np.clip(number, -(2**31), 2**31 - 1))
            for _ in range(draw.choice([1, 1, 5, array.size])):
                flat[draw.randrange(array.size)] = number
            return flat.reshape(array.shape)
        changes: list[Callable[[], Any]] = [
            lambda: array * 0, lambda: array.astype("f4") if array.dtype.kind != "c" else array.astype("c8"),
            lambda: array.real.astype("i1"), lambda: array + 1j, lambda: array != 0, lambda: flat, lambda: array.T,
            lambda: array[:0], lambda: array[:-1], lambda: array[..., :-1], lambda: array[None],
            lambda: np.concatenate([array, array]), lambda: np.concatenate([array, array], axis=-1),
            lambda: array.astype(str), lambda: array[::-1], lambda: array * draw.choice([1e-200, -1.0, 1e3, 1e200]),
            lambda: np.full_like(array, array.flat[0]), lambda: array.tolist(),
        ]  # fmt: skip
        try:
            return draw.choice(changes)()
        except ValueError:  # axes that a scalar has not
            return draw.choice(STRANGE)


def edit_plain(value: Any, draw: random.Random) -> Any:
    """Another value, or one of another type."""
    if isinstance(value, bool) and draw.random() < 0.5:
        return not value
    if isinstance(value, int | float) and draw.random() < 0.6:
        return draw.choice([-value, value + 1, value * 1000, float(value), -1e9, 0, 10**9, float("nan"), float("inf")])
    if isinstance(value, list | tuple) and draw.random() < 0.6:
        return draw.choice([value[:-1], [*value, *value], value[::-1], [*value, "x"], [*value, None], list(value)])
    return draw.choice(STRANGE)


def edit_tree(tree: dict[str, Any], draw: random.Random) -> str:
    """Change one part of a tree; what was done."""
    place = draw.choice([place for place in parts_of(tree) if place[0] in GROUPS])
    holder, key, part = at(tree, place[:-1]), place[-1], at(tree, place)
    name = "/".join(map(str, place))
    chance = draw.random()
    if chance < 0.12 and isinstance(holder, dict):
        del holder[key]
        return f"{name} removed"
    if chance < 0.2:
        other = draw.choice([place for place in parts_of(tree) if place[0] in GROUPS])
        holder[key] = copied(at(tree, other))
        return f"{name} replaced by {'/'.join(map(str, other))}"
    if isinstance(part, dict) and chance < 0.6:
        part[draw.choice(["a", "density", "history", "x" * 200])] = draw.choice(STRANGE)
        return f"{name} got another part"
    holder[key] = edit_array(part, draw) if isinstance(part, np.ndarray) else edit_plain(part, draw)
    return f"{name} changed to {repr(holder[key])[:60]!r}"


# --- edits of the file -----------------------------------------------------------------------------------------------


def edit_file(path: Path, draw: random.Random) -> str:
    """Change something that only HDF5 knows of; what was done."""
    with h5py.File(path, "r+") as file:
        names: list[str] = []
        file.visit(names.append)
        name, other = (draw.choice([name for name in names if name.split("/")[0] in GROUPS]) for _ in range(2))
        kinds = [*"int float bool complex string strings list tuple none utf8 other".split(), 7, None]
        what = draw.randrange(4)
        if what == 0 or name == other:
            kind = draw.choice(kinds)
            file[name].attrs.pop("kind", None)
            if kind is not None:
                file[name].attrs["kind"] = kind
            words = f"{name}: kind {kind!r}"
        else:
            del file[name]
            if what == 1 and other in file:
                file[name] = file[other]
            elif what == 2:
                file[name] = h5py.SoftLink(f"/{other}")
            else:
                file.create_dataset(name, shape=(10**7, 10**4), dtype="f8", chunks=(1000, 1000))
            words = f"{name}: {('', 'linked to', 'softly linked to', 'hollow instead of')[what]} {other}"
    seal(path)
    return words


# --- attempts --------------------------------------------------------------------------------------------------------


def attempt(folder: Path, trees: list[dict[str, Any]], seed: int, number: int) -> tuple[str, str, str]:
    """(what became of it, what was done, traceback): "went on", "refused", or "FAULT"."""
    draw = random.Random(f"{seed} {number}")
    base = draw.randrange(len(trees))
    tree = copied(trees[base])
    path = make_folder(folder / "later", **({"NELM": 2} | BASES[base] | draw.choice(LATER)))
    done = [edit_tree(tree, draw) for _ in range(draw.choice([1, 1, 1, 2, 3]))] if draw.random() < 0.85 else []
    try:
        write_state(path / "eigenwerk.h5", tree, __version__)
    except (TypeError, ValueError):  # a mixture that no file can hold
        return attempt(folder, trees, seed, number + 10**6)
    if not done:
        done.append(edit_file(path / "eigenwerk.h5", draw))
    signal.alarm(SECONDS)
    try:
        run_folder(path)
        return "went on", "; ".join(done), ""
    except InputError as error:
        return "refused", "; ".join(done), str(error)
    except Exception:
        return "FAULT", "; ".join(done), traceback.format_exc()
    finally:
        signal.alarm(0)


def _too_long(number: int, frame: object) -> None:
    raise TimeoutError(f"longer than {SECONDS} seconds")


def main() -> None:
    """Make them, count what became of them, show what should not have been."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=14)
    parser.add_argument("--show", action="store_true", help="also what was refused, and why")
    options = parser.parse_args()
    signal.signal(signal.SIGALRM, _too_long)
    counts, places, began = Counter[str](), Counter[str](), time.monotonic()
    with tempfile.TemporaryDirectory(prefix="edits") as folder:
        trees = base_states(Path(folder))
        for number in range(options.first, options.first + options.count):
            what, done, words = attempt(Path(folder), trees, options.seed, number)
            counts[what] += 1
            if what == "FAULT":
                places[words.strip().splitlines()[-1][:100]] += 1
            if what == "FAULT" or options.show:
                print(f"{number} {what}: {done}\n{words}", flush=True)
    told = ", ".join(f"{count} {what}" for what, count in sorted(counts.items()))
    print(f"{options.count} edits in {time.monotonic() - began:.0f} s: {told}")
    for place, count in places.most_common():
        print(f"{count:5d}  {place}")
    sys.exit(bool(places))


if __name__ == "__main__":
    main()
