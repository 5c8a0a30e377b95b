"""How names appear in addresses."""

from django.urls import register_converter


class TopicName:
    """A topic's name, or that of a consumer group (``<topic>@<group>``): the same patterns the engine accepts."""

    regex = r"[A-Za-z][A-Za-z0-9_.\-]{0,99}(?:@[A-Za-z0-9][A-Za-z0-9_.\-]{0,99})?"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


class GroupName(TopicName):
    """The name of a consumer group alone."""

    regex = r"[A-Za-z0-9][A-Za-z0-9_.\-]{0,99}"


class TabName(TopicName):
    """A tab of the topic page other than the first."""

    regex = "messages|dead|groups|slots|trends|definition"


class RouteName(TopicName):
    """A route's name."""

    regex = r"[A-Za-z0-9][A-Za-z0-9_.\-]{0,59}"


register_converter(TopicName, "rmq_topic")
register_converter(RouteName, "rmq_route")
register_converter(GroupName, "rmq_group")
register_converter(TabName, "rmq_tab")
