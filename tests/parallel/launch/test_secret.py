"""Who may know the secret of a user's runs."""

import os
import stat

import pytest

from eigenwerk.errors import EigenwerkError
from eigenwerk.parallel.launch.secret import is_private, own_secret


def test_secret_is_made_once_for_its_user_alone(tmp_path):
    first = own_secret({"XDG_STATE_HOME": str(tmp_path)})
    path = tmp_path / "eigenwerk" / "secret"
    assert len(first) == 32 and own_secret({"XDG_STATE_HOME": str(tmp_path)}) == first
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and is_private(path)
    assert os.listdir(path.parent) == ["secret"]


def test_secret_of_the_environment_counts_first(tmp_path):
    assert own_secret({"XDG_STATE_HOME": str(tmp_path), "EIGENWERK_SECRET": "chosen"}) == b"chosen"


@pytest.mark.parametrize("spoil", [lambda path: path.chmod(0o644), lambda path: path.write_bytes(b"short")])
def test_secret_that_others_may_know_is_refused(tmp_path, spoil):
    own_secret({"XDG_STATE_HOME": str(tmp_path)})
    spoil(tmp_path / "eigenwerk" / "secret")
    with pytest.raises(EigenwerkError, match="Remove it"):
        own_secret({"XDG_STATE_HOME": str(tmp_path)})


def test_without_a_home_the_secret_lies_in_a_private_folder(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "home").touch()
    assert len(own_secret({"XDG_STATE_HOME": str(tmp_path / "home")})) == 32
    assert is_private(tmp_path / f"eigenwerk-{os.getuid()}" / "secret")


def test_folder_that_others_have_made_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "home").touch()
    (tmp_path / f"eigenwerk-{os.getuid()}").symlink_to(tmp_path)
    with pytest.raises(EigenwerkError, match="TMPDIR"):
        own_secret({"XDG_STATE_HOME": str(tmp_path / "home")})
