"""The addresses of the project: the console at the root, and a brake on signing in."""

from django.contrib.admin import autodiscover
from django.urls import include, path

from console.config import signin

autodiscover()

handler403 = "console.pages.shell.forbidden"

urlpatterns = [
    path("admin/login/", signin.sign_in),
    path("", include("console.urls")),
]
