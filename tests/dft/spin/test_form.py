"""The verbs of spin that hold for every way to treat it, and that nobody goes around them."""

import ast
import inspect

import pytest
import torch

from eigenwerk.dft.spin.form import COLLINEAR, OF_ISPIN, SPINOR, UNPOLARISED, paired

ALL = (UNPOLARISED, COLLINEAR, SPINOR)

ROOMS = ("after/fields", "density", "derivatives", "hamiltonian", "paw", "scf", "terms")
"""Where densities and potentials have components of spin."""

WORDS = ("density", "occupancy", "occupation", "vt", "change", "smooth", "potential", "field", "whole", "core", "like")
"""Names of tensors whose first axis is that of the components."""


@pytest.fixture(params=ALL, ids=lambda spin: spin.words)
def spin(request):
    return request.param


@pytest.fixture
def value(spin):
    draw = torch.Generator().manual_seed(1)
    return torch.randn((spin.components, 5), generator=draw, dtype=torch.float64)


def test_all_ways_have_the_same_verbs_and_numbers():
    def public(spin):
        return {name: value for name, value in inspect.getmembers(type(spin)) if not name.startswith("_")}

    first = public(UNPOLARISED)
    for other in map(public, ALL):
        assert other.keys() == first.keys()
        for name, value in other.items():
            same = type(value) is type(first[name])
            assert same and (not callable(value) or inspect.signature(value) == inspect.signature(first[name]))


def test_orbitals_hold_two_electrons_between_them():
    assert all(spin.degeneracy * spin.channels * spin.orbital_components == 2 for spin in ALL)
    assert {ispin: spin.components for ispin, spin in OF_ISPIN.items()} == {1: 1, 2: 2}


def test_what_is_separated_joins_again_and_begins_with_the_total(spin, value):
    torch.testing.assert_close(spin.joined(spin.separated(value)), value, atol=1e-15, rtol=0)
    assert torch.equal(spin.separated(value)[0], spin.total(value))
    if spin.polarised:
        rest = spin.magnetisation(value)
        assert torch.equal(spin.separated(value)[1:].reshape(rest.shape), rest)


def test_a_core_has_no_magnetisation(spin, value):
    core = spin.of_total(value[0])
    assert len(core) == spin.components
    assert torch.equal(spin.total(core), value[0]) and not spin.magnetisation(core).any()
    assert spin.moment(core[:, 0]) == 0


def test_derivatives_are_dual_to_densities(spin, value):
    """Whatever depends on the total alone, or on both: δE is the same by components and by total and magnetisation."""
    slope = value.flip(1) + 0.3
    total, moment = spin.total(value), spin.magnetisation(value)
    torch.testing.assert_close(paired(value, spin.by_components(slope[0])), slope[0] * total)
    both = (spin.by_magnetisation(slope) * moment).reshape(-1, 5).sum(0)
    torch.testing.assert_close(paired(value, slope), spin.by_total(slope) * total + both)


def test_time_reversal_turns_moments_around_and_keeps_the_charge(spin, value):
    values, unit = torch.stack([value, 2 * value], 1), torch.eye(3, dtype=torch.float64).expand(2, 3, 3)
    again = spin.rotated(values, unit, True)
    assert torch.equal(spin.total(again), spin.total(values))
    assert torch.equal(spin.magnetisation(again), -spin.magnetisation(values))
    assert torch.equal(spin.rotated(values, unit, False), values)
    second = spin.rotated(values, unit, torch.tensor([False, True]))
    assert torch.equal(second[:, 0], value) and torch.equal(second[:, 1], again[:, 1])


def test_channels_along_the_axis_add_up_to_the_total_and_their_derivative_is_that_by_components(spin, value):
    value = value.requires_grad_()
    axis = spin.axis(value)
    channels = spin.local(value, axis)
    assert len(channels) == (2 if spin.polarised else 1)
    torch.testing.assert_close(channels.sum(0), spin.total(value))
    energy = (channels.exp() * torch.arange(1.0, 6.0)).sum()
    by_channels, by_components = torch.autograd.grad(energy, [channels, value])
    torch.testing.assert_close(spin.back(by_channels, axis), by_components)


def test_no_room_adds_up_components_by_itself(repository):
    """No sum, mean or expansion over the first axis of what has components of spin: that is a verb."""
    found = []
    for path in (path for room in ROOMS for path in (repository / "src/eigenwerk/dft" / room).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _over_components(node):
                found.append(f"{path.name}:{node.lineno}: {ast.unparse(node)}")
    assert found == []


def _over_components(call):
    """Whether a call is .sum(0), .mean(0) or .expand_as of a name with the letter s first among its axes."""
    first = call.args[0] if call.args else None
    if call.func.attr not in ("sum", "mean", "expand_as"):
        return False
    if call.func.attr != "expand_as" and not (isinstance(first, ast.Constant) and first.value == 0):
        return False
    names = [node.attr if isinstance(node, ast.Attribute) else node.id
             for node in ast.walk(call) if isinstance(node, ast.Attribute | ast.Name)]  # fmt: skip
    axes = [name.rpartition("_")[2] for name in names if "_" in name and name.startswith(WORDS)]
    return any(letters.startswith("s") for letters in axes)
