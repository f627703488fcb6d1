"""Imports go down: a module uses floors below its own and, on its own floor, its own folder, without cycles.

Neither do the rooms of a folder (`dft/basis`, `ncci/matrix_free`) import each other in a circle; the files beside the
rooms, which several of them use or which put them together, are left out of that.

The rules are those of docs/architecture.md. The first half of this file is the checker, the second half shows that it
passes the package and that it finds each kind of fault in a small bad tree.
"""

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

FLOORS = {
    "units": 0,
    "errors": 0,
    "arrays": 0,
    "shown": 0,
    "figure_layout": 1,
    "lattice_reduction": 0,
    "functionals": 1,
    "eigensolvers": 0,
    "record": 1,
    "parallel": 2,
    "io": 2,
    "linalg": 3,
    "motion": 3,
    "dft": 4,
    "ncci": 4,
    "perf": 5,
    "view": 6,
    "ase": 5,
    "cli": 7,
}
"""Floor of every module and folder directly below `eigenwerk`."""

OPTIONAL_PACKAGES = {
    "ase", "mpi4py", "pynvml", "cuda", "triton", "matplotlib", "pyfftw", "seekpath", "dftd3", "dftd4",
}  # fmt: skip
"""Packages that a function may import, because they may be absent, or are slow and rarely needed."""

LAZY_ENGINES = {
    "eigenwerk.dft.runs.run", "eigenwerk.dft.runs.motion.movers", "eigenwerk.dft.runs.paths.run",
    "eigenwerk.motion.relaxation.relaxation",
    "eigenwerk.ncci.series", "eigenwerk.ncci.sources", "eigenwerk.ncci.results.levels_file",
    "eigenwerk.ncci.results.limits.together", "eigenwerk.ncci.inputs.usual_states",
    "eigenwerk.parallel.launch.start", "eigenwerk.dft.runs.warm_up",
    "eigenwerk.cli.main", "eigenwerk.cli.missing",
    "eigenwerk.dft.runs.series.eos", "eigenwerk.dft.runs.series.convergence", "eigenwerk.dft.runs.series.points",
    "eigenwerk.io.hdf5.hdf5_state",
    "eigenwerk.view.choice", "eigenwerk.view.dos_plot", "eigenwerk.view.folder",
    "eigenwerk.view.report.report",
}  # fmt: skip
"""Modules that a function of `cli` may import: they load PyTorch, scipy or h5py, which `--help` and `check` must not
wait for; and those with which the command can begin where packages are missing."""

LAZY_TABLES = {"eigenwerk.dft.paw.filtered"}
"""Modules that a function of `dft` may import: they load scipy for a setting that few inputs have."""

COLLECTORS = {
    "eigenwerk.dft.after.analyses.table", "eigenwerk.dft.density.kinds.table", "eigenwerk.functionals.table",
}  # fmt: skip
"""Modules that load every file of their own folder, so that a new file is enough."""

LOADERS = {"eigenwerk.parallel.launch.loader"}
"""Modules that load others by the names that they are told."""

DOORS = {"eigenwerk.dft"}
"""Packages whose `__init__` holds a function that is loaded when it is asked for."""

MOST_MODULES = 16
"""So many stand in one folder, and can be seen at a glance."""

ROOT_NAMES = {"__version__"}
"""What the package root defines itself and may be imported from it."""


@dataclass(frozen=True)
class Import:
    """One imported module, as it stands in a file."""

    line: int
    module: str
    names: tuple[str, ...] = ()  # of `from module import names`
    level: int = 0  # dots of a relative import
    hidden: bool = False  # not at the top level of the file


def imports_of(tree: ast.Module) -> Iterator[Import]:
    """Every import of a file, `importlib.import_module("x")` and `__import__("x")` included."""
    visible = {id(node) for node in _top_level(tree.body)}
    for node in ast.walk(tree):
        hidden = id(node) not in visible
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(node.lineno, alias.name, hidden=hidden)
        elif isinstance(node, ast.ImportFrom):
            names = tuple(alias.name for alias in node.names)
            yield Import(node.lineno, node.module or "", names, node.level, hidden)
        elif isinstance(node, ast.Call) and _called_name(node) in {"import_module", "__import__"}:
            target = node.args[0] if node.args else None
            module = target.value if isinstance(target, ast.Constant) and isinstance(target.value, str) else "?"
            yield Import(node.lineno, module, hidden=True)


def _top_level(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements that run when the file is loaded; `if TYPE_CHECKING:` and other conditions count as the top."""
    for node in body:
        yield node
        if isinstance(node, ast.If):
            yield from _top_level(node.body + node.orelse)


def _called_name(node: ast.Call) -> str:
    return getattr(node.func, "attr", getattr(node.func, "id", ""))


def modules_of(package: Path) -> dict[str, Path]:
    """Dotted name -> file of every module below the folder of the package."""
    modules = {}
    for path in sorted(package.rglob("*.py")):
        parts = (package.name, *path.relative_to(package).with_suffix("").parts)
        modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return modules


def faults_of(package: Path) -> list[str]:
    """Every offence against the floors in the package, as lines 'module:line what'."""
    modules = modules_of(package)
    faults, graph = [], {}
    for name, path in modules.items():
        tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
        found = list(imports_of(tree))
        faults += [f"{name}:{entry.line} {what}" for entry in found for what in _faults_of_import(name, entry, modules)]
        graph[name] = {target for entry in found for target in _targets(entry, modules)}
        if path.name == "__init__.py" and found and name not in DOORS:
            faults.append(f"{name}:{found[0].line} imports in __init__.py: name the module that defines the thing")
        if len(name.split(".")) > 1 and name.split(".")[1] not in FLOORS:
            faults.append(f"{name}:1 '{name.split('.')[1]}' has no floor; add it to docs/architecture.md and FLOORS")
    return faults + _cycles(graph) + _cycles(rooms_of(graph, modules)) + _crowds(modules)


def rooms_of(graph: dict[str, set[str]], modules: dict[str, Path]) -> dict[str, set[str]]:
    """The same for rooms: which others on their floor each imports from."""
    rooms: dict[str, set[str]] = {}
    for name, targets in graph.items():
        here = _room(name, modules)
        there = {_room(target, modules) for target in targets} - {here, ""}
        if here:
            rooms.setdefault(here, set()).update(room for room in there if room.split(".")[1] == here.split(".")[1])
    return rooms


def _room(name: str, modules: dict[str, Path]) -> str:
    """The folder below a floor in which a module stands, at whatever depth; empty for files beside the rooms."""
    room = ".".join(name.split(".")[:3])
    return room if room in modules and modules[room].name == "__init__.py" and room.count(".") == 2 else ""


def _crowds(modules: dict[str, Path]) -> list[str]:
    """Folders with too many modules."""
    counts = Counter(path.parent for path in modules.values() if path.name != "__init__.py")
    return [
        f"{folder.name}:1 {count} modules in one folder; more than {MOST_MODULES} ask for rooms"
        for folder, count in sorted(counts.items()) if count > MOST_MODULES
    ]  # fmt: skip


def _faults_of_import(name: str, entry: Import, modules: dict[str, Path]) -> Iterator[str]:
    root = name.split(".")[0]
    if entry.level:
        yield "relative import"
        return
    if "*" in entry.names:
        yield f"star import from {entry.module}"
    if entry.hidden and not _may_be_hidden(name, entry):
        yield f"import of {entry.module} is hidden in a function; it belongs at the top of the file"
    if entry.module == root and not (entry.names and ROOT_NAMES.issuperset(entry.names)):
        yield "import from the package root; name the module that defines the thing"
        return
    for target in _targets(entry, modules):
        yield from _fault_of_floor(name, target)
    if entry.module.split(".")[0] == root and entry.module not in modules:
        yield f"{entry.module} does not exist"


def _may_be_hidden(name: str, entry: Import) -> bool:
    floor = name.split(".")[1:2]
    if name in DOORS:
        return True
    if entry.module.split(".")[0] in OPTIONAL_PACKAGES or (name in COLLECTORS | LOADERS and entry.module == "?"):
        return True
    return entry.module in (LAZY_ENGINES if floor == ["cli"] else LAZY_TABLES if floor == ["dft"] else ())


def _targets(entry: Import, modules: dict[str, Path]) -> set[str]:
    """Modules of the package that an import loads: the one it names, or those among the names it takes from it."""
    if entry.module not in modules:
        return set()
    inner = {f"{entry.module}.{name}" for name in entry.names} & set(modules)
    return inner or {entry.module}


def _fault_of_floor(name: str, target: str) -> Iterator[str]:
    here, there = name.split(".")[1:2], target.split(".")[1:2]
    if not here or not there or here[0] not in FLOORS or there[0] not in FLOORS:
        return
    mine, other = FLOORS[here[0]], FLOORS[there[0]]
    if other > mine:
        yield f"floor {mine} imports {target} of floor {other}"
    elif other == mine and here != there and not _both_are_files(here[0], there[0]):
        yield f"imports {target} of the neighbour folder on floor {mine}"


def _both_are_files(here: str, there: str) -> bool:
    """Whether both stand directly below the package, which is then their common folder."""
    files = {"units", "errors", "arrays", "shown", "lattice_reduction"}
    return here in files and there in files


def _cycles(graph: dict[str, set[str]]) -> list[str]:
    try:
        TopologicalSorter({name: sorted(targets) for name, targets in sorted(graph.items())}).prepare()
    except CycleError as error:
        return [f"{error.args[1][0]}:1 cycle of imports: {' -> '.join(reversed(error.args[1]))}"]
    return []


# --- the package -----------------------------------------------------------------------------------------------------


def test_eigenwerk_has_no_stairs_up(repository):
    package = repository / "src" / "eigenwerk"
    assert len(modules_of(package)) > 10
    assert faults_of(package) == []


# --- the checker -----------------------------------------------------------------------------------------------------


@pytest.fixture
def faults(tmp_path):
    """Writes a small package from {file: text} and returns the checker's faults."""

    def check(**files):
        package = tmp_path / "eigenwerk"
        for name, text in files.items():
            path = package / (name.replace("__init__", "@").replace("__", "/").replace("@", "__init__") + ".py")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        for folder in {path.parent for path in package.rglob("*.py")} | {package}:
            (folder / "__init__.py").touch()
        return faults_of(package)

    return check


def test_good_tree_passes(faults):
    assert not faults(
        __init__='"""Root."""\n__version__ = "1"\n',
        units="HARTREE = 1.0\n",
        errors="import eigenwerk.units\n",
        record__trace="import time\n",
        io__vasp__poscar="from eigenwerk.units import HARTREE\n",
        io__vasp__incar="from eigenwerk.io.vasp import poscar\nfrom eigenwerk import __version__\n",
        linalg__dense="import torch\nfrom eigenwerk.record.trace import time\n",
        dft__runs__run="import eigenwerk.linalg.dense\n\ndef plot():\n    import matplotlib.pyplot\n",
        dft__scf__loop="import eigenwerk.dft.basis\nimport eigenwerk.dft.density\n",
        dft__density="import eigenwerk.dft.basis.grids\n",
        dft__basis__grids="import eigenwerk.dft.spin\n",
        dft__spin="",
        cli__run="import typer\n\ndef run():\n    from eigenwerk.dft.runs.run import plot\n",
    )


BAD = {
    "up": ({"io__vasp": "import eigenwerk.dft.run\n", "dft__run": ""}, "floor 2 imports eigenwerk.dft.run of floor 4"),
    "up by from": ({"linalg__dense": "from eigenwerk.dft import run\n", "dft__run": ""}, "floor 3 imports"),
    "up under TYPE_CHECKING": (
        {
            "units": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import eigenwerk.record.trace\n",
            "record__trace": "",
        },
        "eigenwerk.units:3 floor 0 imports eigenwerk.record.trace of floor 1",
    ),
    "the other engine": (
        {"dft__run": "import eigenwerk.ncci.basis\n", "ncci__basis": ""},
        "neighbour folder on floor 4",
    ),
    "parallel uses io": ({"parallel__serial": "import eigenwerk.io.h5\n", "io__h5": ""}, "neighbour folder on floor 2"),
    "cycle in a folder": (
        {
            "dft__a": "import eigenwerk.dft.b\n",
            "dft__b": "import eigenwerk.dft.c\n",
            "dft__c": "from eigenwerk.dft import a\n",
        },
        "cycle of imports: eigenwerk.dft.",
    ),
    "cycle of rooms": (
        {
            "dft__basis__grids": "import eigenwerk.dft.density\n",
            "dft__basis__spheres": "import eigenwerk.dft.scf.loop\n",
            "dft__density": "import eigenwerk.dft.scf.state\n",
            "dft__scf__state": "",
            "dft__scf__deep__mixing": "import eigenwerk.dft.basis.grids\n",
            "dft__scf__loop": "",
        },
        "cycle of imports: eigenwerk.dft.",
    ),
    "a crowd": ({f"linalg__m{number}": "" for number in range(17)}, "linalg:1 17 modules in one folder"),
    "cycle of two files": ({"units": "import eigenwerk.errors\n", "errors": "import eigenwerk.units\n"}, "cycle"),
    "hidden in a function": ({"dft__run": "def f():\n    import json\n"}, "dft.run:2 import of json is hidden"),
    "hidden in a method": (
        {"dft__run": "class A:\n    def f(self):\n        from math import pi\n"},
        "import of math is hidden",
    ),
    "hidden in a try": ({"dft__run": "try:\n    import torch\nexcept ImportError:\n    pass\n"}, "torch is hidden"),
    "hidden by importlib": (
        {"dft__run": "import importlib\nimportlib.import_module('eigenwerk.cli.main')\n", "cli__main": ""},
        "import of eigenwerk.cli.main is hidden",
    ),
    "hidden by __import__": ({"dft__run": "__import__('js' + 'on')\n"}, "import of ? is hidden"),
    "lazy engine outside cli": (
        {"perf__report": "def f():\n    import eigenwerk.dft.runs.run\n", "dft__runs__run": ""},
        "import of eigenwerk.dft.runs.run is hidden",
    ),
    "another lazy import in cli": (
        {"cli__check": "def f():\n    import eigenwerk.dft.inputs\n", "dft__inputs": ""},
        "import of eigenwerk.dft.inputs is hidden",
    ),
    "relative": ({"dft__run": "from . import inputs\n", "dft__inputs": ""}, "relative import"),
    "star": ({"dft__run": "from math import *\n"}, "star import from math"),
    "package root": ({"dft__run": "import eigenwerk\n"}, "import from the package root"),
    "module from the root": ({"units": "", "dft__run": "from eigenwerk import units\n"}, "from the package root"),
    "__init__ that re-exports": (
        {"ncci____init__": "from eigenwerk.ncci.run import f\n", "ncci__run": "def f(): ...\n"},
        "imports in __init__.py",
    ),
    "no floor": ({"misc__tools": ""}, "'misc' has no floor"),
    "no such module": ({"dft__run": "import eigenwerk.dft.nothing\n"}, "eigenwerk.dft.nothing does not exist"),
}


@pytest.mark.parametrize("case", BAD)
def test_each_fault_is_found(faults, case):
    files, expected = BAD[case]
    found = faults(**files)
    assert any(expected in fault for fault in found), found
