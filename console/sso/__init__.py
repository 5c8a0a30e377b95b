"""Single sign-on by OpenID Connect, on django-allauth: the extra `sso`. Without it only the options are loaded."""
