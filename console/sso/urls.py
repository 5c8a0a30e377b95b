"""Addresses of single sign-on; they come before those of the console, whose sign-out they replace."""

from django.urls import path

from console.sso import views

urlpatterns = [
    path("sso/<str:provider_id>/login/", views.login, name="openid_connect_login"),
    path("sso/<str:provider_id>/login/callback/", views.callback, name="openid_connect_callback"),
    path("admin/logout/", views.sign_out),
]
