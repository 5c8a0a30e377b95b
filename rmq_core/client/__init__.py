"""The synchronous and the asyncio shells around operations and queries."""

from importlib import import_module

# What the first connection and the first script would import: should one thread fork while another imports, the child
# would wait for that import for ever.
for _name in ("email.parser", "encodings.idna", "importlib.readers", "secrets"):
    import_module(_name)
