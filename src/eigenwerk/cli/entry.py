"""The command `eigenwerk` as programs start it; a Python that lacks a package of the command line is told of here.

Packages that only calculations need are told of by `main`.
"""

import sys
from typing import NoReturn

from eigenwerk.cli.streams import memory_words, prepare_streams


def command() -> NoReturn:
    """Loads the command line and runs it.  Exit code 1 if it cannot be loaded, 130 if Ctrl-C comes before that is done,
    else that of `main`."""
    prepare_streams()
    if words := memory_words():
        sys.exit(words)
    try:
        from eigenwerk.cli.main import command as run_command
    except (ImportError, MemoryError) as error:
        from eigenwerk.cli.missing import missing_words

        words = missing_words(error) or memory_words(error)
        if words is None:
            raise
        sys.exit(words)
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        sys.exit(130)
    run_command()


if __name__ == "__main__":  # ranks
    command()
