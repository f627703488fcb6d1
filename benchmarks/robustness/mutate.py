"""Damages real input files at random and reads them: only InputError may come of it, within 2 GB and ten seconds of a
processor.

    OMP_NUM_THREADS=1 python benchmarks/robustness/mutate.py               # 1000 inputs for each reader
    python benchmarks/robustness/mutate.py incar h2 --count 20000 --first 5000 --keep build/robustness

Input number i of a reader is made from the seed, the reader's name and i alone, so any one of them can be made again.
A process of its own reads many of them; one that dies, runs out of memory or hangs is told of by its number.
"""

import argparse
import gzip
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from result_readers import RESULT_READERS

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "src"))
SHARED = REPOSITORY.parent / "shared" / "reference"
MEMORY, SECONDS = 2 * 2**30, 10
"""Address space, beside that of the loaded modules, and time of one input."""

LONGEST_WORDS = 20_000
"""Characters of all words about one input."""

SEED = 14

Files = dict[str, bytes]
"""Name -> content of the files of one input; the first of them is damaged."""

# --- what is read ----------------------------------------------------------------------------------------------------


def read_folder(folder: Path) -> str:
    from eigenwerk.cli.checking.check_document import document
    from eigenwerk.dft.inputs.inputs import read_inputs
    from eigenwerk.errors import InputError

    found = document(read_inputs(folder))
    json.dumps(found, allow_nan=False)
    words = "\n".join(problem["text"] for problem in found["problems"])
    if not found["ok"]:
        raise InputError(words)
    return words


def read_incar_file(folder: Path) -> str:
    from eigenwerk.io.vasp.input.incar import judge, read_incar

    incar = read_incar(folder / "INCAR")
    return "\n".join(map(str, [*incar.problems, *judge(incar)]))


def read_poscar_file(folder: Path) -> None:
    from eigenwerk.io.vasp.input.poscar import format_poscar, overlap_problems, read_poscar

    poscar = read_poscar(folder / "POSCAR")
    overlap_problems(poscar)
    format_poscar(poscar)


def read_kpoints_file(folder: Path) -> None:
    from eigenwerk.io.vasp.input.kpoints import read_kpoints

    read_kpoints(folder / "KPOINTS")


def read_potcar(folder: Path) -> None:
    from eigenwerk.io.vasp.input.potcar import read_potcar_species

    read_potcar_species(folder / "POTCAR")


def read_paw(folder: Path) -> None:
    from eigenwerk.io.paw.paw_xml import read_paw_xml

    read_paw_xml(folder / "Si.PBE")


def read_h2_file(folder: Path) -> None:
    from eigenwerk.io.ncci.h2 import read_h2
    from eigenwerk.ncci.interaction.files import two_body_from_h2

    two_body_from_h2(read_h2(folder / "tbme"))


def read_valence(folder: Path) -> None:
    from eigenwerk.ncci.interaction.files import valence_from_file

    (file,) = (file for file in folder.iterdir() if file.suffix in (".snt", ".int"))
    lists = [file for file in folder.iterdir() if file.suffix in (".sps", ".sp")]
    valence_from_file(file, *lists, core=(8, 8)).hamiltonian(2, 18)


def read_relative(folder: Path) -> None:
    from eigenwerk.io.ncci.relative_table import read_relative_table
    from eigenwerk.ncci.interaction.files import is_h2
    from eigenwerk.ncci.interaction.relative_motion.relative import Relative

    if not is_h2(folder / "relative"):
        table = read_relative_table(folder / "relative")
        Relative(table.hw or 20.0, table.matrices)


def read_case(folder: Path) -> None:
    from eigenwerk.ncci.estimate import planned
    from eigenwerk.ncci.inputs.inputs import read_cases
    from eigenwerk.ncci.refusal import refuse_what_does_not_fit
    from eigenwerk.ncci.sources import source_of
    from eigenwerk.parallel.memory.main_memory import MemoryShare

    for case in read_cases(folder / "case.toml")[:3]:
        problem = source_of(case).problem(case)
        estimated, memory, backend = planned(case, problem, "cpu", (MemoryShare(8e9),))
        refuse_what_does_not_fit(case, problem, estimated, backend, memory)


def read_results(folder: Path) -> None:
    from eigenwerk.io.ncci.res import read_res

    read_res(folder / "mfdn.res").energies.sum()


def read_saved_state(folder: Path) -> None:
    from eigenwerk.io.hdf5.hdf5_state import read_header, read_state

    read_header(folder / "eigenwerk.h5")
    read_state(folder / "eigenwerk.h5")


def read_saved_levels(folder: Path) -> None:
    from eigenwerk.ncci.results.levels_file import read_levels
    from eigenwerk.ncci.results.levels_text import levels_lines

    levels_lines(read_levels(folder / "levels.h5"))


def read_trace(folder: Path) -> None:
    from eigenwerk.perf.run_trace import load_run

    load_run(folder / "eigenwerk-trace.json")


def read_charge(folder: Path) -> None:
    from eigenwerk.io.vasp.volumetric import read_head, read_volumetric

    read_head(folder / "CHGCAR")
    read_volumetric(folder / "CHGCAR")


def read_waves(folder: Path) -> None:
    from eigenwerk.io.vasp.wavecar import read_wavecar

    file = read_wavecar(folder / "WAVECAR")
    for k in range(len(file.point_kc)):
        file.waves(k)
        for s in range(len(file.eig_skn)):
            file.coefficients(s, k)


# --- undamaged inputs ------------------------------------------------------------------------------------------------


def folders(first: str, least: tuple[str, ...] = ("INCAR", "POSCAR")) -> list[Files]:
    """Input folders of examples, and those of other programs' users where they are at hand; `first` stands first."""
    found = []
    for folder in [*sorted((REPOSITORY / "examples").iterdir()), *sorted((SHARED / "vasp_inputs").glob("*"))]:
        names = [name for name in ("INCAR", "POSCAR", "KPOINTS") if (folder / name).is_file()]
        if {*least, first} <= {*names, "POTCAR"} and folder.is_dir():
            files = {name: (folder / name).read_bytes() for name in names}
            if first == "POTCAR":
                files[first] = b"  PAW_PBE Si 05Jan2001\n  4.0\n  VRHFIN =Si: s2p2\n   TITEL  = PAW_PBE Si 05Jan2001\n"
            found.append({first: files.pop(first)} | files)
    return found


def samples(first: str) -> list[Files]:
    """Samples of one kind of file from the tests, in the first example's folder."""
    text = (REPOSITORY / "tests" / "data" / "vasp_samples.txt").read_text()
    parts = text.split("==== ")[1:]
    base = folders(first)[0]
    return [
        base | {first: body.partition("\n")[2].encode()}
        for head, _, body in (part.partition(" ====") for part in parts) if head.startswith(first)
    ]  # fmt: skip


def reference(name: str, pattern: str, beside: str = "", largest: int = 500_000) -> list[Files]:
    """Files of nuclear structure codes, where they are at hand."""
    more = {Path(beside).name: (SHARED / "ncci" / beside).read_bytes()} if beside and SHARED.is_dir() else {}
    found = sorted(path for path in (SHARED / "ncci").glob(pattern) if path.stat().st_size < largest)
    return [{name or path.name: path.read_bytes()} | more for path in found]


def data_sets() -> list[Files]:
    from gpaw_data import datapath

    texts = [gzip.decompress((Path(datapath()) / name).read_bytes()) for name in ("Si.PBE.gz", "H.PBE.gz")]
    return [{"Si.PBE": text} for text in texts] + [{"Si.PBE": gzip.compress(text, 1)} for text in texts]


def relatives() -> list[Files]:
    made = b"# hbar*omega = 25 MeV\n0 0 0 0 0 0 -4.5\n0 0 0 0 0 1 -1.5\n0 0 0 0 1 1 -0.5\n1 1 0 2 0 0 -3.0\n"
    lsjt = b"# RELATIVE LSJT\n1\n0 0 0 0 0\n4 2\n0 0 0 0 0 1 0 0 0 0 1 -2.5\n0 2 0 0 0 1 0 0 0 0 1 -1.5\n"
    return [{"relative": made}, {"relative": lsjt}, *reference("relative", "relative/*", largest=100_000)]


def cases() -> list[Files]:
    examples = REPOSITORY / "examples"
    full = (
        b'nucleus = "6Li"\ninteraction = "JISP16"\nhw = [15, 20.0]\nNmax = [0, 2]\nM = "1"\nstates = 3\nlawson = 10.0\n'
        b'observables = ["radii"]\n[solver]\nmethod = "lobpcg"\nblock = 8\ntolerance = 1e-5\nmemory_gb = 2.0\n'
    )
    weights = (
        b'Z = 3\nN = 3\ninteraction = "Minnesota"\nhw = 20\nparity = "-"\n[basis]\nprotons = 4\nneutrons = 4\nall = 6\n'
    )
    neon = {path.name: path.read_bytes() for path in (examples / "06_neon20").glob("*.*[st]")}
    found: list[Files] = [{"case.toml": text} for text in (full, weights)]
    found.append({"case.toml": (examples / "05_lithium6" / "case.toml").read_bytes()})
    return [*found, {"case.toml": (examples / "06_neon20" / "case.toml").read_bytes()} | neon]


def saved_states() -> list[Files]:
    import numpy as np

    from eigenwerk.io.hdf5.hdf5_state import write_state

    with tempfile.TemporaryDirectory() as folder:
        state = {"system": "Si", "density": {"n_sg": np.arange(24.0).reshape(1, 24)}, "lists": [1, 2], "none": None}
        write_state(Path(folder) / "made.h5", state, "0")
        made = (Path(folder) / "made.h5").read_bytes()
    old = (REPOSITORY / "tests" / "data" / "states" / "version_1.h5").read_bytes()
    return [{"eigenwerk.h5": made}, {"eigenwerk.h5": old}]


def saved_levels() -> list[Files]:
    import numpy as np

    from eigenwerk.ncci.results.levels import Levels
    from eigenwerk.ncci.results.levels_file import write_levels

    about = {
        "nucleus": "6Li", "Z": 3, "N": 3, "title": "6Li", "hw": 20.0, "Nmax": 2, "interaction": "JISP16",
        "srg_lambda": None, "twice_M": 0, "parity": 1,
    }  # fmt: skip
    numbers = {name: np.arange(3.0) for name in ("energy_n", "residual_n", "j_n", "isospin_n")}
    rest: dict = {name: {} for name in ("values", "transitions", "orbitals", "solver")}
    with tempfile.TemporaryDirectory() as folder:
        levels = Levels(about=about, dimension=10, nonzeros=50, converged=True, **numbers, **rest)
        write_levels(Path(folder) / "levels.h5", levels, np.eye(3))
        return [{"levels.h5": (Path(folder) / "levels.h5").read_bytes()}]


def charges() -> list[Files]:
    """A small magnet, written by eigenwerk, and a potential in the form of other programs."""
    import numpy as np

    from eigenwerk.io.vasp.input.poscar import Poscar
    from eigenwerk.io.vasp.output.volumetric import write_fields
    from eigenwerk.io.vasp.volumetric import GridBlock, Volumetric

    cell = Poscar("MgO", 3 * np.eye(3), ("Mg", "O"), np.array([[0.0, 0, 0], [0.5, 0.5, 0.5]]))
    blocks = [
        GridBlock(values, (np.arange(8.0), np.arange(15.0)), np.ones(2) if values[0, 0, 0] == 0 else None)
        for values in np.arange(240.0).reshape(2, 4, 5, 6)
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "CHGCAR"
        write_fields(path, cell, Volumetric(tuple(blocks), {"Mg": "01234567", "O": "89abcdef"}), "made")
        magnet = path.read_bytes()
        write_fields(path, cell, Volumetric((GridBlock(blocks[1].value_R),), {}), short=True)
        return [{"CHGCAR": magnet}, {"CHGCAR": path.read_bytes()}]


def waves() -> list[Files]:
    """Orbitals of a small magnet at two k-points."""
    import numpy as np

    from eigenwerk.io.vasp.wavecar import DOUBLE, REAL, wavecar_record, waves_within

    lattice_cv, points_kc = 3 * np.eye(3) + 0.1, np.array([[0, 0, 0], [0.5, 0.25, 0]])
    counts = [len(waves_within(lattice_cv, 30.0, point_c, 10**5)) for point_c in points_kc]
    size = wavecar_record(max(counts), 3)
    records = [[size, 2, DOUBLE], [2, 3, 30.0, *lattice_cv.ravel(), 1.5]]
    for count, point_c in 2 * list(zip(counts, points_kc, strict=True)):
        records.append([count, *point_c, *np.arange(9.0)])
        records += [list(np.linspace(-1, 1, 2 * count))] * 3
    return [{"WAVECAR": b"".join(np.array(record, REAL).tobytes().ljust(size, b"\0") for record in records)}]


def traces() -> list[Files]:
    from eigenwerk.io.trace_file import trace_document
    from eigenwerk.record.trace import Trace

    trace = Trace()
    with trace.span("step"), trace.span("density"):
        pass
    about = {"rank": 0, "host": "a", "device": "cpu", "threads": 1, "peak_bytes": {"main": 10}, "clock_offset": 0.0}
    text = json.dumps(trace_document([trace.as_dict(events=True) | about], {"system": "Si"}))
    return [{"eigenwerk-trace.json": text.encode()}]


READERS: dict[str, tuple[Callable[[Path], str | None], Callable[[], list[Files]]]] = {
    "incar": (read_incar_file, lambda: folders("INCAR") + samples("INCAR")),
    "poscar": (read_poscar_file, lambda: folders("POSCAR") + samples("POSCAR")),
    "kpoints": (read_kpoints_file, lambda: folders("KPOINTS") + samples("KPOINTS")),
    "potcar": (read_potcar, lambda: folders("POTCAR")[:4]),
    "check: incar": (read_folder, lambda: folders("INCAR") + samples("INCAR")),
    "check: poscar": (read_folder, lambda: folders("POSCAR") + samples("POSCAR")),
    "check: kpoints": (read_folder, lambda: folders("KPOINTS") + samples("KPOINTS")),
    "chgcar": (read_charge, charges),
    "wavecar": (read_waves, waves),
    "paw_xml": (read_paw, data_sets),
    "h2": (read_h2_file, lambda: reference("tbme", "h2-tbme/*", largest=100_000)),
    "snt": (read_valence, lambda: reference("", "valence/*.snt")),
    "int": (read_valence, lambda: [
        *[{"usdb.int": files["usdb.int"], "sd.sps": files["sd.sps"]} for files in cases()[-1:]],
        *[{"sd.sps": files["sd.sps"], "usdb.int": files["usdb.int"]} for files in cases()[-1:]],
        *[{"fp.sp": files["fp.sp"]} | files for files in reference("", "valence/gx1a.int", "valence/fp.sp")],
    ]),
    "relative": (read_relative, relatives),
    "case": (read_case, cases),
    "res": (read_results, lambda: reference("mfdn.res", "mfdn-results/*mfdn*", largest=50_000)),
    "state": (read_saved_state, saved_states),
    "levels": (read_saved_levels, saved_levels),
    "trace": (read_trace, traces),
    **RESULT_READERS,
}  # fmt: skip
"""Reader -> how it is called, and its undamaged inputs."""

# --- damage ----------------------------------------------------------------------------------------------------------

EVIL = [
    *"0 -0 -1 1 2 7 -5 1e300 -1e300 1e308 1e-300 5e-324 1e-12 1e9 1e5 100000 2147483647 2147483648 -2147483649".split(),
    *"nan NaN inf -inf Infinity 1e999 1d400 1D0 0x10 1_0.0 1__0 .5 5. . + - , = : ; * / 3* *3 9*9 1000000*1".split(),
    *"{ } [ ] ( ) < > & \" ' \\ ! # T F .TRUE. true null Si Xx H1 {} [[ ]] <!ENTITY &lt; <![CDATA[".split(),
    *"\u2212\u0661 \u0661 é 😀 99999999999999999999e-20".split(),
    "9" * 25, "9" * 5000, "-" + "9" * 4400, "1" * 400 + ".5", "a" * 10_000, "[" * 3000, "{" * 500, "(" * 500, "\0",
    "\ufeff", "\x1a", "\x85", "\u2028", "\r", "\t", "", " ", "\n", "\n\n\n", "\\\n", "\x00\x00\x00\x00", "\xff",
]  # fmt: skip

Damage = Callable[[random.Random, bytes, bytes], bytes]


def _span(rng: random.Random, data: bytes, longest: int = 200) -> slice:
    start = rng.randrange(len(data) + 1)
    return slice(start, min(len(data), start + rng.randrange(1, longest)))


def flip_bits(rng: random.Random, data: bytes, other: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 8, 64))):
        if changed:
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def change_bytes(rng: random.Random, data: bytes, other: bytes) -> bytes:
    at = _span(rng, data, 9)
    new = bytes(rng.choice((0, 255, rng.randrange(256))) for _ in range(at.stop - at.start))
    return data[: at.start] + new + data[at.stop :]


def cut(rng: random.Random, data: bytes, other: bytes) -> bytes:
    end = rng.randrange(len(data) + 1)
    return data[:end] if rng.random() < 0.8 else data[end:]


def remove(rng: random.Random, data: bytes, other: bytes) -> bytes:
    at = _span(rng, data)
    return data[: at.start] + data[at.stop :]


def repeat(rng: random.Random, data: bytes, other: bytes) -> bytes:
    at = _span(rng, data)
    times = rng.choice((2, 2, 3, 10, 100, max(2, 300_000 // max(1, at.stop - at.start))))
    return data[: at.stop] + data[at] * times + data[at.stop :]


def splice(rng: random.Random, data: bytes, other: bytes) -> bytes:
    here = rng.randrange(len(data) + 1)
    return data[:here] + other[_span(rng, other, 2000)] + data[here:]


WORD_STARTS = re.compile(r"""(?:(?<=[ \t\n\r="'>])|\A)\S""")


def _words(rng: random.Random, data: bytes, change: Callable[[str], list[str]]) -> bytes:
    """One word of the text changed; bytes that are no text stay."""
    text = data.decode("latin-1")
    starts = [found.start() for found in WORD_STARTS.finditer(text)] or [0]
    start = rng.choice(starts)
    end = start
    while end < len(text) and text[end] not in " \t\n\r\"'<;":
        end += 1
    new = " ".join(change(text[start:end]))
    return data[:start] + new.encode("utf-8", "surrogatepass") + data[end:]


def evil_word(rng: random.Random, data: bytes, other: bytes) -> bytes:
    return _words(rng, data, lambda word: [rng.choice(EVIL)])


def more_words(rng: random.Random, data: bytes, other: bytes) -> bytes:
    evil = rng.choice(EVIL)
    return _words(rng, data, lambda word: rng.choice([[], [word, word], [word, evil], [evil, word]]))


def change_number(rng: random.Random, data: bytes, other: bytes) -> bytes:
    def change(word: str) -> list[str]:
        zeros, power = "0" * rng.randrange(1, 12), rng.randrange(-320, 320)
        ways = ["-" + word, word + zeros, f"{word}e{power}", word + ".5", "1" + word]
        digits = [i for i, letter in enumerate(word) if letter.isdigit()]
        if digits:
            at = rng.choice(digits)
            ways += [word[:at] + str(rng.randrange(10)) + word[at + 1 :]] * 3
        return [rng.choice(ways)]

    return _words(rng, data, change)


def change_lines(rng: random.Random, data: bytes, other: bytes) -> bytes:
    lines, others = data.split(b"\n"), other.split(b"\n")
    at, to = rng.randrange(len(lines)), rng.randrange(len(lines))
    way = rng.randrange(5)
    if way == 0:
        del lines[at]
    elif way == 1:
        lines.insert(to, lines[at])
    elif way == 2:
        lines[at], lines[to] = lines[to], lines[at]
    elif way == 3:
        lines.insert(at, rng.choice(others))
    else:
        lines[at] = b""
    return b"\n".join(lines)


def other_text(rng: random.Random, data: bytes, other: bytes) -> bytes:
    text = data.decode("latin-1")
    ways = (
        lambda: text.upper(), lambda: text.lower(), lambda: text.replace("\n", "\r\n"),
        lambda: text.replace("\n", "\r"), lambda: text.replace("\n", " "), lambda: text.replace(" ", "\t"),
        lambda: "\ufeff" + text, lambda: text.replace("=", ""),
    )  # fmt: skip
    way = rng.randrange(len(ways) + 3)
    if way < len(ways):
        return ways[way]().encode("utf-8")
    return (text.encode("utf-16"), gzip.compress(data, 1), data[:2] + b"\xff" + data[2:])[way - len(ways)]


DAMAGES: list[Damage] = [
    flip_bits, change_bytes, cut, remove, repeat, splice, evil_word, evil_word, evil_word, more_words, change_number,
    change_number, change_number, change_lines, change_lines, other_text,
]  # fmt: skip


BINARY: list[Damage] = [flip_bits, flip_bits, flip_bits, change_bytes, change_bytes, change_bytes, cut, splice]
"""For files that hold hardly any text; behind the label, whose every change is seen at once."""

LABEL = 512


def damaged(reader: str, number: int, seed: int, inputs: list[Files]) -> Files:
    """Input `number` of a reader."""
    rng = random.Random(f"{seed} {reader} {number}")
    files = dict(rng.choice(inputs))
    name = next(iter(files))
    other = rng.choice(inputs)
    data = files[name]
    binary = name.endswith(".h5") and rng.random() < 0.9
    label, data = (data[:LABEL], data[LABEL:]) if binary else (b"", data)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 5))):
        data = rng.choice(BINARY if binary else DAMAGES)(rng, data, next(iter(other.values())))
    data = label + data
    return files | {name: data[:1_000_000]}


# --- the process that reads ------------------------------------------------------------------------------------------


class TooSlow(BaseException):
    """An input took too long; no `except Exception` of a reader takes it for something else."""


def _too_slow(number: int, frame: object) -> None:
    signal.signal(signal.SIGPROF, signal.SIG_DFL)  # a second one, if this cannot be raised, ends the process
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    raise TooSlow


def attempt(reader: str, folder: Path) -> tuple[str, str]:
    """What came of one input: "read", "refused", or "failed", and the words."""
    from eigenwerk.errors import EigenwerkError

    signal.signal(signal.SIGPROF, _too_slow)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        words = READERS[reader][0](folder) or ""
        return ("read", "") if len(words) <= LONGEST_WORDS else ("failed", f"too many words: {len(words)} characters")
    except EigenwerkError as error:
        words = str(error)
        return (
            ("refused", "") if len(words) <= LONGEST_WORDS else ("failed", f"too many words: {len(words)} characters")
        )
    except (Exception, TooSlow) as error:
        places = [frame for frame in traceback.extract_tb(error.__traceback__) if "eigenwerk/" in frame.filename]
        where = f"{places[-1].filename.rpartition('eigenwerk/')[2]}:{places[-1].lineno}" if places else "?"
        return "failed", f"{type(error).__name__} at {where}: {str(error)[:100]}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def work(reader: str, first: int, end: int, seed: int) -> None:
    """Read the inputs first ... end - 1 and print a line for each; the last number printed was begun."""
    inputs = READERS[reader][1]()
    with tempfile.TemporaryDirectory() as name:
        _warm(reader, inputs, Path(name))
        most = MEMORY + _address_space()
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        for number in range(first, end):
            print(number, end=" ", flush=True)
            folder = _written(damaged(reader, number, seed, inputs), Path(name))
            print(json.dumps(attempt(reader, folder)), flush=True)


def _warm(reader: str, inputs: list[Files], folder: Path) -> None:
    """Undamaged inputs load all modules before memory is limited; that they are read at all is a test of the tests."""
    for files in inputs:
        attempt(reader, _written(files, folder))


def _address_space() -> int:
    """Bytes that are mapped now."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def _written(files: Files, folder: Path) -> Path:
    for old in folder.iterdir():
        old.unlink() if not old.is_dir() else shutil.rmtree(old)
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return folder


# --- the process that looks on ---------------------------------------------------------------------------------------


def try_reader(reader: str, first: int, count: int, seed: int) -> dict[int, tuple[str, str]]:
    """What came of the inputs first ... first + count - 1; processes that die are started again behind the culprit."""
    found: dict[int, tuple[str, str]] = {}
    number, end = first, first + count
    while number < end:
        command = [sys.executable, __file__, "--work", reader, str(number), str(end), str(seed)]
        threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # the stacks of others count as address space
        environ = os.environ | threads | {"PYTHONPATH": str(REPOSITORY / "src")}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environ)
        lines = done.stdout.splitlines()
        for line in lines:
            name, _, told = line.partition(" ")
            died = "failed", f"the process ended: {done.returncode} {done.stderr[-300:]}"
            found[int(name)] = tuple(json.loads(told)) if told else died
        if not lines:
            raise SystemExit(f"{reader}: cannot begin\n{done.stderr}")
        number = max(found) + 1
    return found


def kind_of(words: str) -> str:
    """Failures of one kind have the same place."""
    return words.split(": ")[0]


def table(rows: dict[str, Counter], seconds: dict[str, float]) -> str:
    """Markdown."""
    lines = ["| reader | inputs | read | refused | failed | seconds |", "|---|---|---|---|---|---|"]
    rows, seconds = rows | {"all": sum(rows.values(), Counter())}, seconds | {"all": sum(seconds.values())}
    for reader, counts in rows.items():
        numbers = (counts.total(), counts["read"], counts["refused"], counts["failed"], round(seconds[reader]))
        lines.append(f"| {reader} | {' | '.join(map(str, numbers))} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("readers", nargs="*", help=f"some of {' '.join(READERS)}; default: all")
    parser.add_argument("--count", type=int, default=1000, help="inputs for each reader")
    parser.add_argument("--first", type=int, default=0, help="number of the first one")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--keep", type=Path, help="folder for inputs that failed, one of each kind")
    parser.add_argument("--work", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        reader, *numbers = options.work
        work(reader, *map(int, numbers))
        return
    rows, seconds = {}, {}
    for reader in options.readers or READERS:
        began = time.monotonic()
        found = try_reader(reader, options.first, options.count, options.seed)
        seconds[reader] = time.monotonic() - began
        rows[reader] = Counter(outcome for outcome, _ in found.values())
        kinds = Counter(kind_of(words) for outcome, words in found.values() if outcome == "failed")
        for kind, times in kinds.most_common():
            number, words = next((n, w) for n, (o, w) in found.items() if o == "failed" and kind_of(w) == kind)
            print(f"{reader} {number}: {times} x {words}", flush=True)
            if options.keep:
                folder = options.keep / reader / str(number)
                folder.mkdir(parents=True, exist_ok=True)
                _written(damaged(reader, number, options.seed, READERS[reader][1]()), folder)
        print(f"{reader}: {dict(rows[reader])}, {seconds[reader]:.0f} s", flush=True)
    print(table(rows, seconds))


if __name__ == "__main__":
    main()
