"""The console's own tables."""

from console.models.alerts import Alert, AlertDelivery, AlertLook, AlertReceiver, AlertRule, AlertSilence
from console.models.audit import AuditEntry
from console.models.data_sets import DataLoss, KnownData
from console.models.history import HistoryBlock, HistoryProblem, HistoryWorker, HistoryWriter
from console.models.installation import Installation
from console.models.operation import Operation, OperationPart
from console.models.permissions import ConsolePermission
from console.models.pipeline import Finding, PipelineSchedule, Reconciliation, TopicVerdict
from console.models.preferences import Preferences
from console.models.record import MessageRecord, MessageTransition, RecordPosition
from console.models.recurring import RecurringMessage, RecurringTick
from console.models.revision import TopicRevision
from console.models.route import RouteDefinition
from console.models.scopes import TopicScope
from console.models.screens import Screen
from console.models.sso import SsoAccount
from console.models.tokens import ApiToken, KeptAnswer
from console.models.topic import TopicDefinition
from console.models.views import Favourite, SavedView

__all__ = [
    "Alert",
    "AlertDelivery",
    "AlertLook",
    "AlertReceiver",
    "AlertRule",
    "AlertSilence",
    "ApiToken",
    "AuditEntry",
    "ConsolePermission",
    "DataLoss",
    "Favourite",
    "Finding",
    "HistoryBlock",
    "HistoryProblem",
    "HistoryWorker",
    "HistoryWriter",
    "Installation",
    "KeptAnswer",
    "KnownData",
    "MessageRecord",
    "MessageTransition",
    "Operation",
    "OperationPart",
    "PipelineSchedule",
    "Preferences",
    "Reconciliation",
    "RecordPosition",
    "RecurringMessage",
    "RecurringTick",
    "RouteDefinition",
    "SavedView",
    "Screen",
    "SsoAccount",
    "TopicDefinition",
    "TopicRevision",
    "TopicScope",
    "TopicVerdict",
]
