from django.contrib import admin
from django.contrib.staticfiles.views import serve
from django.http import HttpRequest, HttpResponse
from django.urls import include, path, re_path


def overview(request: HttpRequest) -> HttpResponse:
    return HttpResponse("the shop")


urlpatterns = [
    path("", overview, name="overview"),  # a name that the console has, too
    path("backoffice/", admin.site.urls),
    path("tools/rmq/", include("console.urls")),
    re_path(r"^static/(?P<path>.*)$", serve, {"insecure": True}),
]
