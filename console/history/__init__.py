"""History of days: what the keeper has sampled, ever coarser with age, as compressed blocks in the database."""
