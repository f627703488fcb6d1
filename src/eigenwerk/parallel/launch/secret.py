"""What only the user of a run can read: a secret by which ranks know each other, and a folder where they meet.

The secret is 32 random bytes in $XDG_STATE_HOME/eigenwerk/secret (~/.local/state/eigenwerk/secret), made when the first
run of several ranks needs it; on machines of one cluster it is the same file.  EIGENWERK_SECRET takes its place.
"""

import os
import secrets
import shutil
import socket
import stat
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from eigenwerk.errors import EigenwerkError

OWN_SECRET = "EIGENWERK_SECRET"
"""Set by users whose machines share no home: one random text for all ranks."""

LENGTH = 32


def own_secret(environ: Mapping[str, str] = os.environ) -> bytes:
    """The user's secret; where there is no home to write to, one in `private_folder`, for ranks of this machine."""
    if environ.get(OWN_SECRET):
        return environ[OWN_SECRET].encode()
    wanted = Path(environ.get("XDG_STATE_HOME", ""))
    with suppress(OSError, RuntimeError):  # a home that is not there, or cannot be written to
        folder = (wanted if wanted.is_absolute() else Path.home() / ".local" / "state") / "eigenwerk"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return _secret_in(folder)
    return _secret_in(private_folder())


def private_folder() -> Path:
    """A folder in that for temporary files that nobody else can look into; EigenwerkError if somebody else has it."""
    folder = Path(tempfile.gettempdir()) / f"eigenwerk-{os.getuid()}"
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    if not stat.S_ISDIR(os.lstat(folder).st_mode) or not is_private(folder):
        raise EigenwerkError(
            f"{folder} is no folder that you alone can use, so ranks cannot meet there safely. Remove it (or have it "
            "removed by its owner), or set TMPDIR to a folder of your own."
        )
    return folder


def temporary_folder() -> "tempfile.TemporaryDirectory[str]":
    """A folder in `private_folder`; those of processes that were killed before they could remove theirs go first."""
    parent = private_folder()
    remove_abandoned(parent)
    prefix = f"{socket.gethostname()}-{os.getpid()}-"
    return tempfile.TemporaryDirectory(prefix=prefix, dir=parent, ignore_cleanup_errors=True)


def remove_abandoned(parent: Path) -> None:
    """Folders of earlier processes of this machine, which needed them until they ended."""
    for folder in parent.glob(f"{socket.gethostname()}-*-*"):
        number = folder.name.removeprefix(f"{socket.gethostname()}-").partition("-")[0]
        if number.isdigit() and not Path(f"/proc/{number}").exists():
            shutil.rmtree(folder, ignore_errors=True)


def is_private(path: Path) -> bool:
    """Whether a file or folder, no symbolic link, belongs to this user and is open to nobody else."""
    found = os.lstat(path)
    return not stat.S_ISLNK(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077


def _secret_in(folder: Path) -> bytes:
    """The secret of a folder, made if there is none; whoever makes one first decides."""
    path = folder / "secret"
    if not os.path.lexists(path):
        number, name = tempfile.mkstemp(dir=folder, prefix=".new-")
        try:
            with os.fdopen(number, "wb") as new:
                new.write(secrets.token_bytes(LENGTH))
            with suppress(FileExistsError):
                os.link(name, path)
        finally:
            os.unlink(name)
    if not is_private(path) or len(secret := path.read_bytes()) < LENGTH:
        raise EigenwerkError(
            f"{path}, by which the ranks of your runs know each other, is not yours alone, or is damaged. Remove it; "
            "a new one is made at the next start."
        )
    return secret
