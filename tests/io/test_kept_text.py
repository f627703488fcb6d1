"""Text of things that do not change is made once, and let go with them."""

import gc

import pytest

from eigenwerk.io import kept_text
from eigenwerk.io.kept_text import KeptText


class Thing:
    pass


def test_text_is_made_once_and_again_in_another_context():
    kept, thing, made = KeptText(), Thing(), []

    def make(word):
        made.append(word)
        yield from word

    assert [kept.of(thing, 1, lambda: make("abc")) for _ in range(3)] == ["abc"] * 3 and made == ["abc"]
    assert kept.of(thing, 2, lambda: make("d")) == "d" and kept.of(thing, 1, lambda: make("never")) == "abc"


@pytest.mark.slow
def test_what_is_kept_is_let_go_with_the_thing_and_has_a_limit(monkeypatch):
    gc.collect()  # what other tests have made
    monkeypatch.setattr(kept_text, "LIMIT", KeptText.held + 10)
    kept, first, second, before = KeptText(), Thing(), Thing(), KeptText.held
    assert kept.of(first, None, lambda: ["12345678"]) == "12345678" and KeptText.held == before + 8
    assert [kept.of(second, None, lambda word=word: [word]) for word in ("abc", "new")] == ["abc", "new"]
    del first
    gc.collect()
    assert KeptText.held == before and len(kept._texts) == 0
