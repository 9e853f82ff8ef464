"""Verifies a viewer session with the public keys of the service, which it does not call for each. Token on stdin."""

import json
import os
import sys

import jwt

SERVICE_URL = os.environ["SERVICE_URL"]
# The environment, such as acme/Customer: in another one, the same number is another customer.
AUDIENCE = os.environ["AUDIENCE"]
# The header Origin of the request that presents the session. Programs send none.
ORIGIN = os.environ.get("ORIGIN")

keys = jwt.PyJWKClient(f"{SERVICE_URL}/.well-known/jwks.json", lifespan=300)

token = sys.stdin.read().strip()
try:
    claims = jwt.decode(
        token,
        keys.get_signing_key_from_jwt(token).key,
        algorithms=["ES256"],
        issuer=SERVICE_URL,
        audience=AUDIENCE,
        # A clock that is a little behind would refuse new sessions by their iat. Only exp decides.
        options={"require": ["iss", "aud", "team_id", "exp"], "verify_iat": False},
    )
    if ORIGIN is not None and ORIGIN not in claims.get("origins", [ORIGIN]):
        raise jwt.InvalidTokenError("The session is for pages of other origins.")
except jwt.PyJWTError as error:
    sys.exit(f"{type(error).__name__}: {error}")

print(json.dumps({"team_id": claims["team_id"], "viewer": claims.get("viewer_id")}, ensure_ascii=False))
