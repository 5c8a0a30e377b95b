"""One backend for each of the two packages that know tasks."""
