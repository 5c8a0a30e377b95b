"""The synchronous and the asyncio shells around operations and queries."""
