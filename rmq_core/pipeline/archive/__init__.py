"""The files of an archive: what lies where, compacted, positioned, erased; one writer at a time."""
