"""The console's own tables."""

from console.models.audit import AuditEntry
from console.models.permissions import ConsolePermission
from console.models.revision import TopicRevision
from console.models.topic import TopicDefinition

__all__ = ["AuditEntry", "ConsolePermission", "TopicDefinition", "TopicRevision"]
