"""The orders that the holder of a viewer session may see. As a program, it takes a session on the standard input."""

import json
import os
import sys

import jwt
import psycopg

SERVICE_URL = os.environ["SERVICE_URL"]
# The environment, such as acme/Customer: in another one, the same number is another customer.
AUDIENCE = os.environ["AUDIENCE"]
KEYS = jwt.PyJWKClient(f"{SERVICE_URL}/.well-known/jwks.json", lifespan=300)


def claims_of(session, origin=None):
    """Verifies a session. `origin` is the header Origin of the request that presents it; programs send none."""
    claims = jwt.decode(
        session,
        KEYS.get_signing_key_from_jwt(session).key,
        algorithms=["ES256"],
        issuer=SERVICE_URL,
        audience=AUDIENCE,
        # A clock that is a little behind would refuse new sessions by their iat. Only exp decides.
        options={"require": ["iss", "aud", "team_id", "exp"], "verify_iat": False},
    )
    if origin is not None and origin not in claims.get("origins", [origin]):
        raise jwt.InvalidTokenError("The session is for pages of other origins.")
    return claims


def orders_of(connection, claims):
    """Runs the query in one transaction, with the role that the policies bind. Role and claims end with the transaction."""
    with connection.transaction():
        connection.execute(
            "SELECT set_config('viewer_session.claims', %s, true), set_config('role', 'dashboard', true)",
            [json.dumps(claims)],
        )
        # No WHERE: the policies of the table leave only the rows of the customer and the person.
        rows = connection.execute("SELECT store, amount FROM orders ORDER BY id")
        return [{"store": store, "amount": amount} for store, amount in rows]


try:
    claims = claims_of(sys.stdin.read().strip())
except jwt.PyJWTError as error:
    sys.exit(f"{type(error).__name__}: {error}")
with psycopg.connect(os.environ["DATABASE_URL"]) as connection:
    print(json.dumps(orders_of(connection, claims), separators=(",", ":")))
