"""Inner products with long vectors and their subtraction, in double arithmetic whatever the vectors are kept in."""
