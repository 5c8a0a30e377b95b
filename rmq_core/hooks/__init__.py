"""What an application puts around sending, around its listeners, and before a death.

`rmq_core.hooks.hook` has the contract; `telemetry` and `logs` are hooks made by it.
"""
