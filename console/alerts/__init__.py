"""Alerts: what is wrong by a rule (`conditions`), for how long (`progress`), once (`looking`), and who is told."""
