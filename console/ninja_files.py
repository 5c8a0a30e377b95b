"""An app for the templates and static files of Ninja that does not import it: only processes that serve pages do."""

from importlib.util import find_spec

from django.apps import AppConfig

_ninja = find_spec("ninja")
__path__ = list(_ninja.submodule_search_locations or ()) if _ninja else []


class NinjaFiles(AppConfig):
    name = __name__
    verbose_name = "Ninja's page for the API"
