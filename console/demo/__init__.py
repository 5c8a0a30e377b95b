"""Real flights out of New York in 2013, replayed as messages: what `manage.py up --demo` shows."""
