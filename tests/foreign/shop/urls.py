from django.contrib import admin
from django.contrib.staticfiles.views import serve
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import include, path, re_path

from tests.foreign.shop.models import Order


def overview(request: HttpRequest) -> HttpResponse:
    return HttpResponse("the shop")


def orders(request: HttpRequest) -> JsonResponse:
    return JsonResponse([order.number for order in Order.objects.all()], safe=False)


urlpatterns = [
    path("orders.json", orders),
    path("", overview, name="overview"),  # a name that the console has, too
    path("backoffice/", admin.site.urls),
    path("tools/rmq/", include("console.sso.urls")),
    path("tools/rmq/", include("console.urls")),
    re_path(r"^static/(?P<path>.*)$", serve, {"insecure": True}),
]
