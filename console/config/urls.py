"""The addresses of the project: the console at the root, the admin beside it."""

from django.contrib import admin
from django.urls import include, path

handler403 = "console.pages.shell.forbidden"

urlpatterns = [
    path("", include("console.urls")),
    path("admin/", admin.site.urls),
    path("language/", include("django.conf.urls.i18n")),
]
