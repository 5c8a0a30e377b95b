"""Sockets, and nothing else: which server, how a call gets there, and gets there again."""
