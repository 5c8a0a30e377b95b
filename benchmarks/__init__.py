"""Measurements of rmq_core and of its peers. `make bench` runs all of them; see benchmarks/peers/README.md."""
