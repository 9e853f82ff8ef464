"""Verifies a viewer session with joserfc and the public keys of the service. Token on stdin."""

import json
import os
import sys
import urllib.request

from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

SERVICE_URL = os.environ["SERVICE_URL"]
# The environment, such as acme/Customer: in another one, the same number is another customer.
AUDIENCE = os.environ["AUDIENCE"]
# With an empty audience, joserfc would take the sessions of every environment.
if not AUDIENCE:
    sys.exit("Set AUDIENCE to the environment, such as acme/Customer.")
# The header Origin of the request that presents the session. Programs send none.
ORIGIN = os.environ.get("ORIGIN")

registry = jwt.JWTClaimsRegistry(
    iss={"essential": True, "value": SERVICE_URL},
    aud={"essential": True, "value": AUDIENCE},
    team_id={"essential": True},
    exp={"essential": True},
)


def published_keys():
    """The public keys. A server may keep them for 300 seconds, not longer."""
    with urllib.request.urlopen(f"{SERVICE_URL}/.well-known/jwks.json", timeout=10) as response:
        return KeySet.import_key_set(json.load(response))


def claims_of(session, keys):
    """Verifies a session. decode checks the signature alone, and the registry the claims."""
    claims = jwt.decode(session, keys, algorithms=["ES256"]).claims
    # A clock that is a little behind would refuse new sessions by their iat. Only exp decides.
    registry.validate({name: value for name, value in claims.items() if name != "iat"})
    return claims


try:
    claims = claims_of(sys.stdin.read().strip(), published_keys())
# joserfc reports a text that is no token in several ways, most of them as a ValueError.
except (JoseError, ValueError) as error:
    sys.exit(f"{type(error).__name__}: {error}")
if ORIGIN is not None and ORIGIN not in claims.get("origins", [ORIGIN]):
    sys.exit("The session is for pages of other origins.")
print(json.dumps({"team_id": claims["team_id"], "viewer": claims.get("viewer_id")}, ensure_ascii=False))
