"""Routes: forwarding from topic to topic, as sans-IO operations (`docs/reference/routes.md`)."""
