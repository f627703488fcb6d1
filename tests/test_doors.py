"""Files are opened in few places: each writing goes through `replacing`, each HDF5 file through its guard."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

WRITERS = {
    "io/atomic_write.py": "the function itself",
    "io/hdf5/hdf5_state.py": "`seal`, of a file that somebody changes on purpose",
    "parallel/kernels/cpu.py": "in a temporary folder of its own",
    "parallel/kernels/cache.py": "by mkstemp, and renamed",
    "parallel/launch/launch.py": "in a temporary folder of its own",
    "parallel/launch/rendezvous.py": "in a folder that only the user can look into",
    "parallel/launch/secret.py": "by mkstemp, and linked",
    "parallel/launch/loader.py": "/dev/null",
    "cli/crash.py": "by mkstemp, where `write_text` has failed",
    "cli/run.py": "/dev/null",
    "cli/streams.py": "standard streams",
    "cli/running/view.py": "/dev/null",
    "view/report/page.py": "a picture into memory",
    "view/plot_process.py": "a picture into memory",
}
"""Files that may write without `replacing`, and why."""

WRITING = {"write_text", "write_bytes", "savefig", "touch"}
"""Methods that write to the path that they belong to, or are given."""

MODULES = {"shutil": {"copy", "copy2", "copyfile", "copytree", "move"}, "np": {"save", "savez", "savetxt"},
           "torch": {"save"}, "tempfile": {"mkstemp", "NamedTemporaryFile"}, "os": {"open"}}  # fmt: skip

METHODS = {"open", *WRITING}.union(*MODULES.values())

HDF5_READERS = {"io/hdf5/hdf5_child.py": "the process that may crash"}

HDF5_WRITERS = {"io/hdf5/hdf5_state.py", "io/vasp/output/h5md.py", "io/vasp/output/vaspout.py", "io/hdf5/hdf5_child.py"}
"""Files that may open HDF5 with "w"."""

SPEAKERS = {"cli/saying.py", "cli/entry.py", "cli/missing.py", "parallel/watch/watchdog.py",
            "parallel/kernels/cache.py", "view/plot_process.py"}  # fmt: skip
"""Files that may print: `say`, what comes before it can be loaded, what ends a process at once, a line between two."""


def _name(node: ast.expr) -> str:
    return ast.unparse(node)


def _mode(call: ast.Call, place: int) -> str:
    given = [word.value for word in call.keywords if word.arg == "mode"] or call.args[place : place + 1]
    return str(given[0].value) if given and isinstance(given[0], ast.Constant) else "r"


def writings(tree: ast.AST) -> list[int]:
    """Lines that write to something that no `with replacing(...) as name` around them has named."""
    found: list[int] = []

    def visit(node: ast.AST, names: frozenset[str]) -> None:
        if isinstance(node, ast.With):
            for item in node.items:
                visit(item.context_expr, names)
                call, given = item.context_expr, item.optional_vars
                if (
                    isinstance(call, ast.Call)
                    and _name(call.func) in ("replacing", "PatientFile")
                    and given is not None
                ) or (isinstance(call, ast.Call) and given is not None and _target(call) in names):
                    names = names | {_name(given)}
            for inner in node.body:
                visit(inner, names)
            return
        if isinstance(node, ast.Call) and _writes(node) and _target(node) not in names:
            found.append(node.lineno)
        for child in ast.iter_child_nodes(node):
            visit(child, names)

    visit(tree, frozenset())
    return found


def _target(call: ast.Call) -> str:
    """What a call writes to."""
    if isinstance(call.func, ast.Attribute) and call.func.attr not in ("savefig", "save", "File"):
        own = (
            call.func.value.args[0]
            if isinstance(call.func.value, ast.Call) and call.func.value.args
            else call.func.value
        )
        return _name(own)
    return _name(call.args[0]) if call.args else ""


def _writes(call: ast.Call) -> bool:
    if isinstance(call.func, ast.Name):
        return call.func.id == "open" and set(_mode(call, 1)) & set("wax+") != set()
    if not isinstance(call.func, ast.Attribute):
        return False
    method = call.func.attr
    if method not in METHODS:
        return False
    owner = _name(call.func.value)
    if method == "open" and owner != "os":
        return set(_mode(call, 0)) & set("wax+") != set()
    if (owner, method) == ("os", "open"):
        return len(call.args) < 2 or {"O_WRONLY", "O_RDWR"} & set(re.findall(r"O_[A-Z]+", _name(call.args[1]))) != set()
    return method in WRITING or method in MODULES.get(owner, ())


def hdf5(tree: ast.AST) -> list[str]:
    """The modes in which h5py.File is called."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _last(node) == "File"]
    return [_mode(call, 1) for call in calls if _name(call.func) in ("h5py.File", "File")]


def _last(call: ast.Call) -> str:
    """The last word of what is called."""
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


@cache
def texts(repository: Path) -> dict[str, str]:
    package = repository / "src" / "eigenwerk"
    return {str(path.relative_to(package)): path.read_text() for path in sorted(package.rglob("*.py"))}


def sources(repository: Path, words: set[str]) -> dict[str, ast.AST]:
    """The files that call something by one of these names."""
    calls = re.compile(rf"\b(?:{'|'.join(sorted(words))})\s*\(")
    return {name: ast.parse(text) for name, text in texts(repository).items() if calls.search(text)}


def test_every_file_is_written_by_one_function(repository):
    found = {name: lines for name, tree in sources(repository, METHODS).items() if (lines := writings(tree))}
    assert not {f"{name}: {lines}" for name, lines in found.items() if name not in WRITERS}, "write by `replacing`"
    assert found.keys() == WRITERS.keys(), "those that write no more have no place in the list"


def test_every_hdf5_file_is_read_by_the_guard(repository):
    for name, tree in sources(repository, {"File"}).items():
        modes = set(hdf5(tree))
        assert modes <= {"r", "w"} and (name in HDF5_READERS or "r" not in modes), f"{name}: read by `read_guarded`"
        assert name in HDF5_WRITERS or "w" not in modes, name


def test_every_command_speaks_by_one_function(repository):
    for name, tree in sources(repository, {"print", "echo", "secho"}).items():
        calls = [
            _name(node.func) for node in ast.walk(tree)
            if isinstance(node, ast.Call) and _last(node) in ("print", "echo", "secho")
        ]  # fmt: skip
        spoken = {"print", "typer.echo", "typer.secho", "click.echo"} & set(calls)
        assert not spoken or name in SPEAKERS or (name == "cli/ranks.py" and calls.count("print") == 1), name


@pytest.mark.parametrize(
    "text",
    [
        "open(path, 'w')", "path.open('ab')", "path.write_text('x')", "figure.savefig(path)", "np.save(path, x)",
        "shutil.copyfile(a, b)", "with replacing(path) as new:\n    open(other, mode='w')",
        "os.open(path, os.O_WRONLY | os.O_CREAT)",
    ],
)  # fmt: skip
def test_the_look_at_writing_finds(text):
    assert writings(ast.parse(text))


@pytest.mark.parametrize(
    "text",
    [
        "open(path)", "path.open('rb')", "with replacing(path) as new, open(new, 'w') as out:\n    out.write('x')",
        "with replacing(path) as new:\n    Path(new).write_text('x')",
        "with replacing(path) as new, new.open('wb') as file:\n    np.save(file, x)",
    ],
)  # fmt: skip
def test_the_look_at_writing_lets_pass(text):
    assert not writings(ast.parse(text))
