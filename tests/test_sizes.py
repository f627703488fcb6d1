"""How large rooms, files, functions and the whole house may be: what fits on a screen, or in a head.

What is larger today stands in a list with its size: it may not grow, and leaves the list when it fits.
"""

import ast
import subprocess

import pytest

from test_floors import imports_of, modules_of

MOST_FILES_OF_A_ROOM = 16
MOST_LINES_OF_A_FILE = 400
MOST_LINES_OF_A_FUNCTION = 60
MOST_IMPORTS = 25
"""Modules of eigenwerk that one module imports."""

MOST_LINES = 87711
MOST_FILES = 737
MOST_TRACKED = 1573
"""Lines and Python files of `src`; files of the repository.  The aim: 74 thousand, 600, 1100."""

LONG_FILES: dict[str, int] = {}

LONG_FUNCTIONS: dict[str, int] = {}

MANY_IMPORTS: dict[str, int] = {}


@pytest.fixture(scope="module")
def modules(repository):
    return modules_of(repository / "src" / "eigenwerk")


@pytest.fixture(scope="module")
def trees(modules):
    return {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in modules.items()}


def too_large(found, limit, known):
    """What is above its limit, and what the list of the known says that is not so."""
    large = {name: size for name, size in found.items() if size > limit}
    grown = {name: size for name, size in large.items() if size > known.get(name, limit)}
    shrunk = {name: size for name, size in known.items() if large.get(name, 0) < size}
    return grown, shrunk


def test_no_room_has_more_files_than_can_be_seen_at_a_glance(modules):
    rooms = [path.parent for path in modules.values() if path.name != "__init__.py"]
    assert {room.name: rooms.count(room) for room in rooms if rooms.count(room) > MOST_FILES_OF_A_ROOM} == {}


def test_no_file_is_long(modules):
    lines = {name: len(path.read_text(encoding="utf-8").splitlines()) for name, path in modules.items()}
    assert too_large(lines, MOST_LINES_OF_A_FILE, LONG_FILES) == ({}, {})


def test_no_function_is_long(trees):
    lines = {}
    for name, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                key, size = f"{name}:{node.name}", node.end_lineno - node.lineno + 1
                lines[key] = max(lines.get(key, 0), size)
    assert too_large(lines, MOST_LINES_OF_A_FUNCTION, LONG_FUNCTIONS) == ({}, {})


def own_imports(tree, modules):
    """The modules of the package that a file names."""
    found = set()
    for entry in imports_of(tree):
        inner = {f"{entry.module}.{name}" for name in entry.names} & modules.keys()
        found |= inner or {entry.module} & modules.keys()
    return found


def test_no_module_knows_half_of_the_house(trees):
    counts = {name: len(own_imports(tree, trees)) for name, tree in trees.items()}
    assert too_large(counts, MOST_IMPORTS, MANY_IMPORTS) == ({}, {})


def test_each_class_name_has_one_meaning(trees):
    places = {}
    for name, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(name)
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_the_house_does_not_grow(modules, repository):
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in modules.values())
    tracked = subprocess.run(["git", "ls-files"], cwd=repository, capture_output=True, text=True)
    assert lines <= MOST_LINES and len(modules) <= MOST_FILES
    assert tracked.returncode or len(tracked.stdout.splitlines()) <= MOST_TRACKED
