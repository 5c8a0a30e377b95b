from django.contrib import admin

from tests.foreign.shop.models import Order

admin.site.register(Order)
