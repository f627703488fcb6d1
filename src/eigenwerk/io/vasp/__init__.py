"""The files of VASP's folders: read, written, and what stands wrong in them with its line."""
