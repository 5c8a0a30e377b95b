"""The addresses of the project: the console at the root, and a brake on signing in."""

from django.apps import apps
from django.contrib.admin import autodiscover
from django.urls import URLPattern, URLResolver, include, path

from console.config import passwords, signin
from console.sso.options import options

autodiscover()

handler400 = "console.pages.failures.bad_request"
handler403 = "console.pages.failures.forbidden"
handler404 = "console.pages.failures.not_found"
handler500 = "console.pages.failures.failed"

urlpatterns: list[URLPattern | URLResolver] = [
    path("admin/login/", signin.sign_in),
    path("admin/password_change/", passwords.own_password),
    *([path("", include("console.sso.urls"))] if options() else []),
    path("", include("console.urls")),
]
if apps.is_installed("console.demo.bookings"):
    urlpatterns.insert(0, path("demo/", include("console.pages.bookings")))
