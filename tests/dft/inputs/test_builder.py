"""The table of steps: what a step takes is there before it."""

from eigenwerk.dft.inputs.builder import STEPS, TAGS

GIVEN = {
    "incar", "poscar", "kpoints_file", "kpoints_broken", "findings", "second_file", "path_words", "fixed_density",
    "known",
}  # fmt: skip
"""What the files say (`read_inputs`), and all of it together."""


def test_what_a_step_takes_is_made_by_steps_before_it():
    """A name that nobody makes would leave its step out in silence."""
    known = set(GIVEN)
    for step in STEPS:
        assert {*step.needs, *step.after} <= known, step.run
        known |= {*step.makes} - {TAGS}
