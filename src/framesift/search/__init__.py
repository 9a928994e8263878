"""One exact search over stored vectors and words."""
