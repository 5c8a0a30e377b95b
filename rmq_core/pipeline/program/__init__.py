"""The jobs as a program: its commands, its rounds, and what asks it for runs."""
