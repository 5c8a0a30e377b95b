"""The web console: a Django project with one app around `rmq_core`."""
