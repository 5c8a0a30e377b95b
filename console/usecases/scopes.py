"""Which topics a role is for: said by whoever may administer all of them."""

from __future__ import annotations

from django.core.exceptions import ValidationError

from console.access import Action, require, split_patterns
from console.errors import BadRequest, ChangedMeanwhile
from console.models import TopicScope
from console.usecases.actor import Actor
from console.usecases.audit import audited
from console.usecases.meanwhile import removed, sentence, unchanged


def put(actor: Actor, scope: TopicScope) -> TopicScope:
    """Save it, a new one or a changed one. Raises `Forbidden`, `ChangedMeanwhile`, `BadRequest`."""
    query = {"role": scope.group.name, "topics": scope.patterns}
    with audited(actor, Action.TOPIC_SCOPE, query=query) as entry:
        require(actor.user, Action.TOPIC_SCOPE)
        scope.patterns = ", ".join(split_patterns(scope.patterns))
        try:
            scope.full_clean()
        except ValidationError as error:
            raise BadRequest(next(iter(error.message_dict.values()))[0]) from None
        with unchanged(scope):
            scope.save()
        entry.done = 1
    return scope


def remove(actor: Actor, scope: TopicScope) -> None:
    """The role says nothing of topics any more. Raises `Forbidden`, `ChangedMeanwhile`."""
    query = {"role": scope.group.name, "topics": scope.patterns, "delete": True}
    with audited(actor, Action.TOPIC_SCOPE, query=query) as entry:
        require(actor.user, Action.TOPIC_SCOPE)
        if not removed(scope):
            raise ChangedMeanwhile(sentence())
        entry.done = 1
