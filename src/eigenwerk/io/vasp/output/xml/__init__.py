"""vasprun.xml."""
