"""Sign-in with an identity provider: OpenID Connect, authorization code flow with PKCE.

1. The browser is sent to the provider with a state, a nonce and a PKCE challenge, all random.
   The state is also in a cookie, so that no other browser can end this sign-in.
2. The provider sends the browser back with a code and the state.
3. The code is exchanged for an ID token, whose signature is verified with the provider's keys,
   and whose issuer, audience, time and nonce must be right.
4. The groups in the token give the person's role, tenant and labels.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote, urlencode, urlsplit

import httpx2
import jwt
from cachetools import TTLCache
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from console.errors import BadInputError, first_fault
from console.runtime.connection import is_loopback
from console.web.people import NAME, Person, Role, RoleName
from workflows.contracts.request import LABEL, Label

START_PATH = "/sign-in/oidc"
CALLBACK_PATH = f"{START_PATH}/callback"
SIGN_IN_SECONDS = 600
"""How long a person may take at the provider."""

# Signatures by the provider's private key only: with `none` or a shared secret anybody could sign.
_ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA"]
_MAX_PENDING = 10_000
_HTTP_SECONDS = 10.0
_LEEWAY_SECONDS = 60


class SignInError(BadInputError):
    """The sign-in is refused for this reason."""


class OidcSettings(BaseModel):
    """The file that RESEARCH_OIDC names."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    issuer: str
    client_id: str = Field(min_length=1)
    client_secret_file: str | None = None
    """None for a public client, which PKCE alone protects."""
    console_url: str
    """Where browsers reach this console; `/sign-in/oidc/callback` below it is the redirect URI."""
    scopes: tuple[str, ...] = ("openid", "email", "profile")
    name_claim: str = "email"
    groups_claim: str = "groups"
    roles: dict[str, RoleName] = Field(min_length=1)
    """The role of a group; of several groups the highest counts."""
    tenants: dict[str, Annotated[str, StringConstraints(pattern=LABEL)]] = {}
    """The tenant of a group; where any is named, everybody but admins must have one."""
    labels: dict[str, tuple[Label, ...]] = {}
    """The permission labels of a group."""

    @classmethod
    def read(cls, file: str) -> OidcSettings:
        try:
            settings = cls.model_validate_json(Path(file).read_bytes())
        except OSError as error:
            raise BadInputError(
                f"RESEARCH_OIDC: {file} cannot be read ({error.strerror})."
            ) from None
        except ValidationError as error:
            place, why = first_fault(error)
            raise BadInputError(f"RESEARCH_OIDC: correct {place} in {file} ({why}).") from None
        for url in (settings.issuer, settings.console_url):
            _check_url(url)
        settings.read_secret()
        return settings

    def read_secret(self) -> str:
        if self.client_secret_file is None:
            return ""
        try:
            return Path(self.client_secret_file).read_text("utf-8").strip()
        except OSError as error:
            raise BadInputError(
                f"RESEARCH_OIDC: client_secret_file cannot be read ({error.strerror})."
            ) from None


class OidcProvider:
    def __init__(self, settings: OidcSettings) -> None:
        self._settings = settings
        self.host = urlsplit(settings.issuer).hostname
        self._redirect_uri = settings.console_url.rstrip("/") + CALLBACK_PATH
        self._pending: TTLCache[str, tuple[str, str]] = TTLCache(_MAX_PENDING, SIGN_IN_SECONDS)
        """Nonce and PKCE verifier, by state."""

    async def begin(self) -> tuple[str, str]:
        """The provider's URL to send the browser to, and the state for its cookie."""
        async with _http_client() as http:
            provider = await self._discover(http)
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        self._pending[state] = nonce, verifier
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest())
        query = {
            "response_type": "code",
            "client_id": self._settings.client_id,
            "redirect_uri": self._redirect_uri,
            "scope": " ".join(self._settings.scopes),
            "state": state,
            "nonce": nonce,
            "code_challenge": challenge.rstrip(b"=").decode(),
            "code_challenge_method": "S256",
        }
        endpoint = provider["authorization_endpoint"]
        return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(query)}", state

    async def finish(self, query: Mapping[str, str], cookie: str) -> Person:
        """The person whom the provider vouches for. Raises `SignInError`."""
        state = query.get("state", "")
        # Each state is used once, also where the rest fails.
        pending = self._pending.pop(state, None)
        if pending is None or not hmac.compare_digest(state.encode(), cookie.encode()):
            raise SignInError("This sign-in was not begun in this browser, or it took too long.")
        if "code" not in query:
            raise SignInError("The identity provider did not sign you in.")
        if query.get("iss", self._settings.issuer) != self._settings.issuer:
            raise SignInError("The answer comes from another identity provider.")
        async with _http_client() as http:
            provider = await self._discover(http)
            nonce, verifier = pending
            id_token = await self._redeem(http, provider, query["code"], verifier)
            keys = await _get_json(http, provider["jwks_uri"])
        return self._map_claims(self._verify(id_token, keys, nonce))

    async def _discover(self, http: httpx2.AsyncClient) -> dict[str, Any]:
        issuer = self._settings.issuer
        found = await _get_json(http, f"{issuer.rstrip('/')}/.well-known/openid-configuration")
        if found.get("issuer") != issuer:
            raise SignInError("The identity provider names another issuer than RESEARCH_OIDC.")
        for name in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
            _check_url(str(found.get(name, "")))
        return found

    async def _redeem(
        self, http: httpx2.AsyncClient, provider: Mapping[str, Any], code: str, verifier: str
    ) -> str:
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self._redirect_uri,
            "code_verifier": verifier,
            "client_id": self._settings.client_id,
        }
        secret, auth = self._settings.read_secret(), httpx2.Auth()
        methods = provider.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
        if secret and "client_secret_basic" in methods:
            auth = httpx2.BasicAuth(quote(form.pop("client_id"), ""), quote(secret, ""))
        elif secret:
            form["client_secret"] = secret
        try:
            answer = await http.post(provider["token_endpoint"], data=form, auth=auth)
            token = answer.raise_for_status().json()["id_token"]
        except (httpx2.HTTPError, ValueError, KeyError) as error:
            raise SignInError("The identity provider does not accept the code.") from error
        return str(token)

    def _verify(self, id_token: str, keys: dict[str, Any], nonce: str) -> dict[str, Any]:
        try:
            kid = jwt.get_unverified_header(id_token).get("kid")
            known = [key for key in jwt.PyJWKSet.from_dict(keys) if key.key_id == kid]
            claims: dict[str, Any] = jwt.decode(
                id_token,
                known[0],
                algorithms=_ALGORITHMS,
                audience=self._settings.client_id,
                issuer=self._settings.issuer,
                leeway=_LEEWAY_SECONDS,
                options={"require": ["exp", "iat", "iss", "aud", "sub", "nonce"]},
            )
        except (jwt.PyJWTError, IndexError, ValueError) as error:
            raise SignInError("The identity provider's ID token is not valid.") from error
        if not hmac.compare_digest(str(claims["nonce"]).encode(), nonce.encode()):
            raise SignInError("The ID token belongs to another sign-in.")
        if claims.get("azp", self._settings.client_id) != self._settings.client_id:
            raise SignInError("The ID token was issued to another client.")
        return claims

    def _map_claims(self, claims: Mapping[str, Any]) -> Person:
        settings = self._settings
        name = str(claims.get(settings.name_claim, ""))
        is_unverified = settings.name_claim == "email" and claims.get("email_verified") is False
        if is_unverified or not re.fullmatch(NAME, name):
            raise SignInError(f"The ID token has no usable claim {settings.name_claim!r}.")
        given = claims.get(settings.groups_claim, [])
        groups = [str(group) for group in (given if isinstance(given, list) else [given])]
        roles = [Role.parse(settings.roles[group]) for group in groups if group in settings.roles]
        if not roles:
            raise SignInError(f"{name} is in no group that may use this console: ask an admin.")
        tenants = {settings.tenants[group] for group in groups if group in settings.tenants}
        if len(tenants) > 1 or (settings.tenants and not tenants and max(roles) < Role.ADMIN):
            raise SignInError(f"{name} must be in the groups of exactly one tenant: ask an admin.")
        labels = {label for group in groups for label in settings.labels.get(group, ())}
        return Person(name, max(roles), "".join(tenants), tuple(sorted(labels)))


def _http_client() -> httpx2.AsyncClient:
    return httpx2.AsyncClient(timeout=_HTTP_SECONDS, follow_redirects=False)


async def _get_json(http: httpx2.AsyncClient, url: str) -> dict[str, Any]:
    try:
        answer: dict[str, Any] = (await http.get(url)).raise_for_status().json()
    except (httpx2.HTTPError, ValueError) as error:
        raise SignInError("The identity provider does not answer: try again later.") from error
    return answer


def _check_url(url: str) -> None:
    """Tokens and keys travel over TLS, or do not leave this machine."""
    parts = urlsplit(url)
    if parts.scheme != "https" and not (
        parts.scheme == "http" and is_loopback(parts.hostname or "")
    ):
        raise SignInError(f"RESEARCH_OIDC: {url[:200]!r} must be an https:// URL.")
