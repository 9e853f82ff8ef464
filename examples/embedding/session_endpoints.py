"""The two endpoints that a page with viewer sessions needs, as a WSGI app: POST /session and POST /sign-out."""

import http.client
import json
import os
import sys
import time
import urllib.error
import urllib.request

SERVICE_URL = os.environ["SERVICE_URL"]
# Only your server has this key. The scope sessions:create is enough.
API_KEY = os.environ["API_KEY"]
# Where people see your pages. Pages of other sites get no session, and can use none.
ORIGINS = os.environ.get("ORIGINS", "http://localhost:3000").split()

MESSAGES = {
    "signed_out": "Sign in to see this.",
    "user_group_suspended": "This account is suspended. Contact our support.",
    "user_group_not_found": "There is nothing to see for this account. Contact our support.",
    "service_unavailable": "This is not available at the moment. Try again in a few minutes.",
    "origin_not_allowed": "Pages of this origin may not call this.",
    "method_not_allowed": "Send a POST.",
}


def call(path, body, seconds):
    """Calls the service. Returns the status and the JSON of its answer; 503 if there is none."""
    headers = {"Authorization": f"Token {API_KEY}", "Content-Type": "application/json"}
    request = urllib.request.Request(SERVICE_URL + path, json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=seconds) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as refusal:
        return refused(refusal)
    except (OSError, ValueError, http.client.HTTPException) as error:
        return 503, {"error": {"code": "network_error", "message": str(error)}}


def refused(refusal):
    """Returns the status and the error of a refusal; 503 for that of a proxy, which has a form of its own."""
    try:
        error = json.load(refusal)["error"]
        return refusal.code, {"error": {"code": error["code"], "message": error["message"]}}
    except (OSError, ValueError, LookupError, TypeError, http.client.HTTPException):
        return 503, {"error": {"code": "unexpected_answer", "message": f"status {refusal.code}"}}


def refusal(code, status):
    return status, {"success": 0, "error": {"code": code, "message": MESSAGES[code]}}


def new_session(environ, signed_in):
    """Mints a session for the person who has signed in."""
    asked_at = time.monotonic()
    person = signed_in(environ)
    if person is None:
        return refusal("signed_out", 401)
    customer, viewer_id = person
    body = {"user_group_id": customer, "viewer_id": viewer_id, "origins": ORIGINS}
    status, answer = call("/api/viewer_sessions", body, seconds=8)
    if status == 201:
        # The person may have signed out or changed meanwhile, which a framework that reads a sign-in once for each request does not notice.
        waited_ms = (time.monotonic() - asked_at) * 1000
        ended_ms_ago = answer.get("viewer_ended_ms_ago")
        is_ended = ended_ms_ago is not None and ended_ms_ago <= waited_ms + 500
        is_signed_in = signed_in(environ) == person
        if is_signed_in and not is_ended:
            return 200, {"success": 1, "session": answer["session"]}
        end_sessions(customer, {"session": answer["session"]["token"]})
        # After a 503, the page asks again: it gets a session if the person is signed in then.
        return refusal("service_unavailable", 503) if is_signed_in else refusal("signed_out", 401)
    code = answer["error"]["code"]
    if code in ("user_group_suspended", "user_group_not_found"):
        return refusal(code, status)
    print(f"No session for {customer!r}: {code}: {answer['error']['message']}", file=sys.stderr)
    # The page tries again after a 503. After a 500, only you can repair it: the service refuses the key or the body.
    return refusal("service_unavailable", 503 if status == 429 or status >= 500 else 500)


def end_sessions(customer, body):
    """Ends the sessions that the body names. If that fails, they are valid until they expire."""
    status, answer = call("/api/viewer_sessions/end", body, seconds=2)
    if status not in (200, 404):
        print(f"The sessions of {customer!r} were not ended: {answer['error']['code']}", file=sys.stderr)


def session_endpoints(signed_in, sign_out):
    """
    Returns the app. `signed_in(environ)` returns the id of the customer and of the person, from your own sign-in and your own records,
    or None. `sign_out(environ)` ends that sign-in on your server, and returns headers, such as a cookie that has expired.
    """

    def answer(environ):
        if environ["REQUEST_METHOD"] != "POST":
            return *refusal("method_not_allowed", 405), [("Allow", "POST")]
        if environ.get("HTTP_ORIGIN", ORIGINS[0]) not in ORIGINS:
            return *refusal("origin_not_allowed", 403), []
        if environ["PATH_INFO"] == "/session":
            return *new_session(environ, signed_in), []
        # In this order: while the person is signed in, an open page could mint another session.
        person = signed_in(environ)
        headers = sign_out(environ)
        # Without a viewer_id, the call would end the sessions of all people of the customer.
        if person is not None and person[1]:
            end_sessions(person[0], {"user_group_id": person[0], "viewer_id": person[1]})
        return 200, {"success": 1}, headers

    def app(environ, start_response):
        status, body, headers = answer(environ)
        # A cached answer would be an expired session, or that of somebody else.
        fixed = [("Content-Type", "application/json"), ("Cache-Control", "no-store")]
        start_response(f"{status} -", fixed + headers)
        return [json.dumps(body).encode()]

    return app
