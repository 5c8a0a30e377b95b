"""Tests of the console: settings, access, pages, live data, supervision, and a real browser."""
