"""Archive, reconciliation and restore on Spark; nothing is imported before it is asked for."""
