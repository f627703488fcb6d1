"""By which name the tables of dispersion parameters know a functional."""

from collections.abc import Mapping

from eigenwerk.dft.dispersion import libraries, pairwise
from eigenwerk.dft.dispersion.correction import D2
from eigenwerk.functionals.functional import Functional
from eigenwerk.functionals.hybrid import Hybrid
from eigenwerk.functionals.table import find_functional

NAMES = {
    "hartreefock": "hf", "b3lypwithvwn5": "b3lyp", "pbewithunroundedconstants": "pbe", "am05ofalldensities": "am05",
    "pw91withoutthecubictermofcxc": "pw91",
}  # fmt: skip
"""Of functionals whose own name, in small letters without hyphens and blanks, is not the one of the tables."""

BY_PARTS = {
    frozenset({"gga_x_b88", "gga_c_lyp"}): "blyp", frozenset({"gga_x_pbe", "gga_c_pbe"}): "pbe",
}  # fmt: skip
"""Of sums of libxc's parts that have no name of their own."""


def table_name(functional: Functional, hybrid: Hybrid | None) -> str:
    """The name under which the parameters of a functional would stand; there need not be any."""
    whole = find_functional(functional.tag, hybrid)
    if hybrid is None and frozenset(functional.libxc) in BY_PARTS:
        return BY_PARTS[frozenset(functional.libxc)]
    # "HSE06: 25 % exact exchange"; a hybrid without a usual name keeps its numbers, so that nothing has this name
    title = whole.title if whole.title.startswith("hybrid of") else whole.title.partition(":")[0]
    plain = "".join(letter for letter in title.lower() if letter.isalnum())
    return NAMES.get(plain, plain)


def known_functionals(method: str) -> Mapping[str, Mapping[str, float]]:
    """Functionals with parameters for a method, and these; of a library that is installed."""
    if method == D2:
        return {name: {"s6": scale} for name, scale in pairwise.SCALES.items()}
    return libraries.parameters_by_functional(method)
