"""Spark data sources over the queues and their journals."""
