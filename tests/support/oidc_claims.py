"""What the provider of the tests says of people."""

from __future__ import annotations

from collections import Counter
from typing import Any

from oauth2_provider.oauth2_validators import OAuth2Validator

ASKED = Counter[str]()
"""How often a console wanted to know whether somebody is still there."""


class Claims(OAuth2Validator):
    oidc_claim_scope = None

    def get_additional_claims(self, request: Any) -> dict[str, Any]:
        user = request.user
        return {
            "preferred_username": user.username,
            "email": user.email,
            "realm_access": {"roles": sorted(user.groups.values_list("name", flat=True))},
        }

    def validate_refresh_token(self, refresh_token: Any, client: Any, request: Any, *args: Any, **kwargs: Any) -> bool:
        known = super().validate_refresh_token(refresh_token, client, request, *args, **kwargs)
        if known:
            ASKED[request.user.username] += 1
        return known and request.user.is_active
