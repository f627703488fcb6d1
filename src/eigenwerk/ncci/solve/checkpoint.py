"""The way of a solver on the disk, so that a run killed at any time continues with the same bits.

A folder holds one file for every Lanczos vector, written once, and `state.h5` with everything small, written last: it
names the vectors it needs.  So a checkpoint costs only what is new.  Davidson's few blocks are in `state.h5` itself.
A vector's name has the checksum of its numbers.

Of several ranks the first one writes and reads, whole vectors one after the other, so that a run may continue on
another number of ranks.
"""

import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path
from shutil import rmtree
from tokenize import TokenError
from typing import Any

import numpy as np
import torch

from eigenwerk import __version__
from eigenwerk.errors import InputError
from eigenwerk.io.atomic_write import ensure_writable, refuse_leaving, replacing
from eigenwerk.io.hdf5.hdf5_state import read_state, write_state
from eigenwerk.io.tree_check import Array, GroupRule, Maybe, Number, Plain, Texts, TreeProblem, check
from eigenwerk.linalg.bands.davidson import DavidsonState
from eigenwerk.linalg.lanczos import LanczosState
from eigenwerk.linalg.operator import Operator
from eigenwerk.ncci.device_arrays import tensor
from eigenwerk.ncci.ranks.segments import Segments
from eigenwerk.parallel.communicator import Communicator
from eigenwerk.parallel.one_for_all import one_for_all
from eigenwerk.parallel.serial import ALONE

STATE, FOUND, OBSERVED = "state.h5", "found.h5", "observed.h5"
"""The way of the solver; the states at its end and what was observed of them, see `found_states`."""

ANEW = "remove its folder; the run then begins anew"
"""For messages: what can be done without a checkpoint."""

_NAME = re.compile(r"vector-[0-9]{4,}-[0-9]{5,}-[0-9a-f]{8}\.npy")

_WHOLE = Number(int, 0)

LANCZOS = GroupRule({
    "rows": Number(int, 1), "names": Texts("v"),
    "lanczos": GroupRule({
        "projected_mm": Array("real", "r r"), "coupling_nm": Array("real", "p f"), "filled": _WHOLE, "pending": _WHOLE,
        "products": _WHOLE, "steps": _WHOLE, "restarts": _WHOLE, "eig_m": Array("real", "f"),
        "residual_m": Array("real", "f", gaps=True), "past_xm": Array("real", "x ..."), "origin": _WHOLE,
        "sure": _WHOLE,
    }),
})  # fmt: skip


LATER = {"past_xm", "origin", "sure"}
"""What checkpoints of Lanczos' method did not have at first."""

DAVIDSON = GroupRule({
    "eig_kn": Array("real", "k n"), "residual_kn": Array("real", "k n", gaps=True), "missing_kn": Array("truth", "k n"),
    "applications": _WHOLE, "iterations": _WHOLE, "notes": Plain(), "ritz": Plain(arrays=True),
    "others": Plain(arrays=True), "h_kmm": Array("real", "k m m"), "s_kmm": Array("real", "k m m"),
    "ritz_drift_kn": Maybe(Array("real", "k n", gaps=True)), "space_drift_km": Maybe(Array("real", "k ...", gaps=True)),
})  # fmt: skip
"""What `state.h5` has to hold, by the method."""


@dataclass(frozen=True)
class Checkpoint:
    """The folder of one run.  about: what has to be the same for a checkpoint to fit.  comm: the ranks that share the
    components of vectors, cut as `Segments` have it; verbs are collective.  notes: what may differ and is kept all the
    same: the layout of stored blocks on so many ranks."""

    folder: Path
    about: Mapping[str, Any]
    comm: Communicator = ALONE
    cuts: tuple[int, ...] | None = None
    notes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def described(self) -> dict[str, Any]:
        """What is written of the case and the notes."""
        return dict(self.about) | dict(self.notes)

    def layout(self) -> str | None:
        """That of stored blocks when as many ranks saved what is there: a run goes on with the same sums."""

        def kept() -> str | None:
            about = self._saved_about()
            same = about.get("ranks") == self.comm.size
            return about.get("layout") if same and about.get("layout") in ("triangle", "dealt") else None

        return one_for_all(self.comm, kept)

    def products(self) -> int:
        """Those done by the run that is there, 0 if there is none; collective.  Raises InputError where it belongs to
        another case, before anything is built; what is damaged is told by `load`."""

        def kept() -> int:
            about = self._saved_about()
            if about:
                self.refuse_other(about)
            done = about.get("products")
            return done if isinstance(done, int) else 0

        return one_for_all(self.comm, kept)

    def _saved_about(self) -> dict[str, Any]:
        """Of what is there, without the vectors that may be in the same file."""
        path = next((path for path in (self.folder / FOUND, self.folder / STATE) if path.exists()), self.folder / STATE)
        about = read_state(path, only={"about"}, anew=ANEW).get("about") if path.exists() else None
        return about if isinstance(about, dict) else {}

    def save(self, state: LanczosState | DavidsonState) -> None:
        """Write what is new; the checkpoint before stays whole until this one is."""
        one_for_all(self.comm, partial(ensure_writable, self.folder, within=self.folder.parent))
        done = state.applications if isinstance(state, DavidsonState) else state.products
        about = self.described | {"products": done}
        if isinstance(state, DavidsonState):
            tree = _with_vectors(state.tree(), self._whole_block)
            if self.comm.rank == 0:
                write_state(self.folder / STATE, {"about": about, "davidson": _plain(tree)}, __version__)
            return
        names = one_for_all(self.comm, lambda: self._names(state))
        for row, name in enumerate(names):
            if not name.endswith(".npy"):
                vector_x = self._whole(state.basis_mx[row])
                names[row] = "" if vector_x is None else self._write_vector(name, vector_x.cpu().numpy())
        if self.comm.rank == 0:
            small = {one.name: getattr(state, one.name) for one in fields(state) if one.name != "basis_mx"}
            write_state(
                self.folder / STATE,
                {"about": about, "rows": len(state.basis_mx), "lanczos": _plain(small), "names": names},
                __version__,
            )
            self._forget_vectors_except(names)

    def _names(self, state: LanczosState) -> list[str]:
        """Of all vectors the names of their files, or how they begin for those not yet written."""
        there = {path.name.rpartition("-")[0]: path.name for path in self.folder.glob("vector-*.npy")}
        places = [f"vector-{state.restarts:04d}-{row:05d}" for row in range(state.filled + state.pending)]
        return [there.get(place, place) for place in places]

    def _write_vector(self, place: str, vector_x: np.ndarray) -> str:
        """Writes a vector; the name of its file."""
        name = f"{place}-{_sum(vector_x)}.npy"
        with replacing(self.folder / name) as new, new.open("wb") as file:
            np.save(file, vector_x)
        return name

    def _whole(self, x_s: torch.Tensor) -> torch.Tensor | None:
        """All components of a vector on rank 0."""
        lengths = self.comm.all_gather(torch.tensor([len(x_s)]))
        return Segments(int(lengths.sum()), self.comm, self.cuts).on_first(x_s)

    def _whole_block(self, x_kns: torch.Tensor) -> torch.Tensor | None:
        """The same of vectors (k, n, s)."""
        rows = [self._whole(x_s) for x_ns in x_kns for x_s in x_ns]
        whole = [row for row in rows if row is not None]
        return torch.stack(whole).view(*x_kns.shape[:2], -1) if whole else None

    def load(self, operator: Operator, device: torch.device) -> LanczosState | DavidsonState | None:
        """The state that was saved, or None where there is none; to be called before the first `save`.

        Raises InputError where it belongs to another case, or to another version of eigenwerk.
        """
        kept: dict[str, Any] = {}  # what rank 0 alone has: whole vectors
        told = one_for_all(self.comm, lambda: self._found(kept))
        if told is None:
            return None
        if "davidson" in told:
            return DavidsonState.of(operator, self._davidson_parts(told["davidson"], kept, device))
        return self._lanczos_state(told, device)

    def _found(self, kept: dict[str, Any]) -> dict[str, Any] | None:
        """What is saved, checked, without the vectors."""
        refuse_leaving(self.folder, self.folder.parent)
        if not (self.folder / STATE).exists():
            self._forget_vectors_except([])
            return None
        saved = read_state(self.folder / STATE, anew=ANEW)
        if not {"about", "names", "lanczos"} <= saved.keys() and not {"about", "davidson"} <= saved.keys():
            raise InputError(
                f"The checkpoint in {self.folder} was written by another version of eigenwerk. Remove the folder; the "
                "run then begins anew."
            )
        with self._damage_named():
            check(saved["about"], GroupRule({}), "/about")
            self.refuse_other(saved["about"])
            saved = self._of_today(saved)
            if "davidson" in saved:
                _check_blocks(saved["davidson"], check(saved["davidson"], DAVIDSON, "/davidson"))
                tree = saved["davidson"]
                kept["blocks"] = [tree["ritz"], *tree["others"]]
                return {"davidson": _with_vectors(tree, lambda x_knx: [*x_knx.shape[:2], x_knx.dtype.str])}
            names = self._checked_names(saved)
            self._forget_vectors_except(names)
            dtype = self._vector(names[0]).dtype.str
            return {"lanczos": saved["lanczos"], "rows": saved["rows"], "names": names, "dtype": dtype}

    def _of_today(self, saved: dict[str, Any]) -> dict[str, Any]:
        """A checkpoint of versions that did not ask for missed levels, with what that needs: nothing before the first
        restart.  Raises InputError after it, when what the restart left out is unknown."""
        small = saved.get("lanczos")
        if not isinstance(small, Mapping) or LATER & small.keys():
            return saved
        numbers = [small.get(name) for name in ("steps", "filled", "pending", "restarts")]
        whole = [one for one in numbers if isinstance(one, int) and one >= 0]
        if len(whole) < len(numbers):
            return saved
        steps, filled, pending, restarts = whole
        if restarts:
            raise InputError(
                f"The checkpoint in {self.folder} was made by an older version of eigenwerk, after {restarts} thick "
                "restarts, and does not say what this one has to know of them to be sure that no level is missed. "
                "Finish the run with that version, or remove the folder; the run then begins anew."
            )
        block = -(-filled // steps) if steps else pending
        later = {"past_xm": np.zeros((2 + 2 * block, 0)), "origin": 0, "sure": 0}
        return saved | {"lanczos": dict(small) | later}

    @contextmanager
    def _damage_named(self) -> Iterator[None]:
        try:
            yield
        except TreeProblem as problem:
            raise InputError(
                f"The checkpoint in {self.folder} is damaged: {problem}. Remove the folder; the run then begins anew."
            ) from problem

    @staticmethod
    def _checked_names(saved: Mapping[str, Any]) -> list[str]:
        sizes = check({name: part for name, part in saved.items() if name != "about"}, LANCZOS)
        small, names = saved["lanczos"], saved["names"]
        if small["filled"] + small["pending"] != len(names) or not 0 < len(names) <= saved["rows"] == sizes["r"]:
            raise TreeProblem(f"{len(names)} vectors for {small['filled']} and {small['pending']} of {saved['rows']}")
        if (sizes["p"], sizes["f"]) != (small["pending"], small["filled"]):
            raise TreeProblem("/lanczos/coupling_nm has another shape than there are vectors")
        past_xm, origin = np.asarray(small["past_xm"]), small["origin"]
        if past_xm.ndim != 2 or len(past_xm) % 2 or len(past_xm) < 2 + 2 * small["pending"] or origin > sizes["f"]:
            raise TreeProblem(f"/lanczos/past_xm of shape {past_xm.shape} and origin {origin} do not fit the vectors")
        return [str(name) for name in names]

    def _lanczos_state(self, told: Mapping[str, Any], device: torch.device) -> LanczosState:
        """The vectors come one after the other."""
        kept: dict[str, np.ndarray] = {}
        basis_mx: torch.Tensor | None = None

        def read(name: str) -> int:
            with self._damage_named():
                kept["vector"] = vector_x = self._vector(name)
                first_x = kept.setdefault("first", vector_x)
                if vector_x.shape != first_x.shape or vector_x.dtype != first_x.dtype:
                    raise TreeProblem(f"{name} has {vector_x.shape} numbers of {vector_x.dtype}")
                return len(vector_x)

        for row, name in enumerate(told["names"]):
            length = one_for_all(self.comm, partial(read, name))
            segments = Segments(length, self.comm, self.cuts)
            if basis_mx is None:
                size = segments.own.stop - segments.own.start
                basis_mx = tensor(np.zeros((told["rows"], size), dtype=np.dtype(told["dtype"])), device)
            vector_b = torch.from_numpy(kept["vector"]) if "vector" in kept else None
            basis_mx[row] = segments.from_first(vector_b, basis_mx[row])
        assert basis_mx is not None
        return LanczosState(basis_mx=basis_mx, **_tensors(told["lanczos"], torch.device("cpu")))

    def _davidson_parts(self, told: Mapping[str, Any], kept: Mapping[str, Any], device: torch.device) -> dict[str, Any]:
        """The tree of a state with the components of this rank in its blocks of vectors."""
        blocks = iter(part for block in kept.get("blocks", ()) for part in block[:2])

        def own(about: Sequence[Any]) -> torch.Tensor:
            problems, count, dtype = about
            x_knx = torch.from_numpy(np.asarray(next(blocks))) if kept else None
            length = one_for_all(self.comm, lambda: None if x_knx is None else x_knx.shape[2])
            segments, like = Segments(length, self.comm, self.cuts), tensor(np.zeros(0, dtype=np.dtype(dtype)), device)
            rows = [None] * (problems * count) if x_knx is None else list(x_knx.view(problems * count, length))
            size = segments.own.stop - segments.own.start
            found = [segments.from_first(row, like) for row in rows]
            return torch.stack(found).view(problems, count, size) if found else like.view(problems, count, size)

        tree = _tensors({name: part for name, part in told.items() if name not in ("ritz", "others")}, device)
        vectors = _with_vectors(told, own)
        notes = told["notes"]
        return tree | {
            "notes": tuple(notes) if isinstance(notes, list) else notes,
            "ritz": [*vectors["ritz"][:2], _tensors(vectors["ritz"][2], device)],
            "others": [[*block[:2], _tensors(block[2], device)] for block in vectors["others"]],
        }

    def _vector(self, name: str) -> np.ndarray:
        """A vector that fits its checksum."""
        if _NAME.fullmatch(name) is None:
            raise TreeProblem(f"{name[:80]} is the name of no vector of this version of eigenwerk")
        try:
            # as a map of the file, whose header may speak of more numbers than there are
            vector_x = np.load(self.folder / name, mmap_mode="r")
        except (OSError, ValueError, EOFError, TypeError, OverflowError, TokenError) as error:
            gone = isinstance(error, FileNotFoundError)
            raise TreeProblem(f"{name} {'is missing' if gone else f'cannot be read ({error})'}") from error
        if vector_x.dtype.kind != "f" or vector_x.ndim != 1 or f"-{_sum(vector_x)}." not in name:
            raise TreeProblem(f"{name} does not fit its checksum")
        return np.array(vector_x)

    def remove(self) -> None:
        """Forget the run; its results are elsewhere by now."""
        if self.comm.rank == 0 and self.folder.is_dir() and not self.folder.is_symlink():
            rmtree(self.folder)

    def _forget_vectors_except(self, names: Iterable[str]) -> None:
        """Vectors that no state names are left from a run that ended while it wrote."""
        for old in set(self.folder.glob("vector-*.npy")) - {self.folder / name for name in names}:
            old.unlink()

    def refuse_other(self, about: Mapping[str, Any]) -> None:
        """Raise InputError unless what is saved belongs to this case."""
        for name, value in self.about.items():
            if about.get(name) != value:
                other, own = ("another case: ", "is") if name == "title" else (f"a run with {name} = ", "has")
                raise InputError(
                    f"The checkpoint in {self.folder} belongs to {other}{about.get(name)}; this one {own} {value}. "
                    "Take the old settings, choose another --output, or remove the folder."
                )


def _with_vectors(tree: Mapping[str, Any], change: Callable[[Any], Any]) -> dict[str, Any]:
    """A tree of `DavidsonState` with its vectors and their images (k, n, x) changed."""
    ritz, *others = [[*map(change, block[:2]), block[2]] for block in (tree["ritz"], *tree["others"])]
    return {**tree, "ritz": ritz, "others": others}


def _check_blocks(davidson: Mapping[str, Any], sizes: Mapping[str, int]) -> None:
    """Raise TreeProblem unless vectors, their images and the rest of them fit each other and the projected matrices."""
    others = davidson["others"]
    if not isinstance(others, list | tuple):
        raise TreeProblem("/davidson/others is no list")
    vectors = 0
    for number, block in enumerate([davidson["ritz"], *others]):
        if not isinstance(block, list | tuple) or len(block) != 3:
            raise TreeProblem(f"/davidson has a block of vectors, number {number}, that has not three parts")
        rule = GroupRule({"0": Array("real", "k n x"), "1": Array("real", "k n x"), "2": Array("real", "k n ...")})
        shape = check({str(part): array_knx for part, array_knx in enumerate(block)}, rule, f"/davidson block {number}")
        if shape["k"] != sizes["k"] or (number == 0 and shape["n"] != sizes["n"]):
            raise TreeProblem(f"/davidson has a block of vectors, number {number}, of another shape")
        vectors += shape["n"] if number else 0
    if sizes["m"] not in (vectors, vectors + sizes["n"]):
        raise TreeProblem(f"/davidson has {vectors} vectors for matrices of {sizes['m']} rows")


def _sum(vector_x: np.ndarray) -> str:
    """CRC-32 of the numbers, as hexadecimal digits."""
    return f"{zlib.crc32(np.ascontiguousarray(vector_x).view(np.uint8).data):08x}"


def _plain(value: Any) -> Any:
    """Tensors of a tree as arrays."""
    return _mapped(value, lambda leaf: leaf.cpu().numpy() if isinstance(leaf, torch.Tensor) else leaf)


def _tensors(value: Any, device: torch.device) -> Any:
    """Arrays of a tree as tensors."""
    return _mapped(value, lambda leaf: tensor(leaf, device) if isinstance(leaf, np.ndarray) else leaf)


def _mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """A tree of mappings, lists and tuples with other leaves."""
    if isinstance(value, Mapping):
        return {name: _mapped(entry, change) for name, entry in value.items()}
    return type(value)(_mapped(entry, change) for entry in value) if isinstance(value, list | tuple) else change(value)
