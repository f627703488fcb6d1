"""The one way by which commands speak: lines to standard output or to standard error, safe for any terminal."""

import json
import sys
from typing import Any

import typer

from eigenwerk.shown import for_terminal


def say(words: str = "", *, err: bool = False, nl: bool = True, colour: str | None = None, over: bool = False) -> None:
    """Write words.  colour: on a terminal only; over: in the place of the line before."""
    typer.secho(("\r" if over else "") + for_terminal(words), err=err, nl=nl, fg=colour)


def hand_over(text: str) -> None:
    """The content of a file, as it is unless a terminal would show it."""
    typer.echo(for_terminal(text) if sys.stdout.isatty() else text, nl=False)


def say_json(document: Any, readable: bool = False) -> None:
    """A document for programs, as it is.  readable: letters as themselves, where the output can hold them."""
    text = json.dumps(document, indent=1, ensure_ascii=not readable)
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:  # as of names of files that are no text
        text = json.dumps(document, indent=1)
    typer.echo(text)
