"""The sub-commands that compute a folder several times."""
