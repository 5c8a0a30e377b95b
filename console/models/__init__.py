"""The console's own tables."""

from console.models.audit import AuditEntry
from console.models.permissions import ConsolePermission

__all__ = ["AuditEntry", "ConsolePermission"]
