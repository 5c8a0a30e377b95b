"""The page on which a flight is booked; of the demo alone, whose address includes this module."""

from __future__ import annotations

from django import forms
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import path
from django.views.decorators.http import require_http_methods

from console.access import Action, allowed
from console.demo.bookings.models import Booking
from console.demo.bookings.work import CONFIRMATIONS, SEATINGS, book
from console.pages.shell import console_page, render_page

SHOWN = 20


class BookingForm(forms.Form):
    """Who flies, and on what."""

    passenger = forms.CharField(max_length=100, widget=forms.TextInput({"class": "rc-input", "autocomplete": "off"}))
    flight = forms.RegexField(
        r"^[A-Z0-9]{2} ?\d{1,4}$", max_length=20, initial="B6 915", widget=forms.TextInput({"class": "rc-input"})
    )


@require_http_methods(["GET", "HEAD", "POST"])
def page(request: HttpRequest) -> HttpResponse:
    """The last bookings, and a form for one more."""
    if request.method != "POST":
        return _shown(request)
    if not allowed(request.user, Action.SEND, SEATINGS.name):
        raise PermissionDenied
    form = BookingForm(request.POST)
    if not form.is_valid():
        return _render(request, form)
    book(form.cleaned_data["passenger"], form.cleaned_data["flight"])
    return redirect("demo:bookings")


@console_page
def _shown(request: HttpRequest) -> HttpResponse:
    return _render(request, BookingForm())


def _render(request: HttpRequest, form: BookingForm) -> HttpResponse:
    return render_page(
        request,
        "console/demo/bookings.html",
        "Bookings",
        form=form,
        bookings=Booking.objects.all()[:SHOWN],
        seatings=SEATINGS.name,
        confirmations=CONFIRMATIONS.name,
    )


app_name = "demo"
urlpatterns = [path("bookings/", page, name="bookings")]
