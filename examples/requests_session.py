"""The life of a user group, with Python's requests."""
import json
import os
import sys

import requests

SERVICE_URL, API_KEY = os.environ["SERVICE_URL"], os.environ["API_KEY"]
group_id = sys.argv[1] if len(sys.argv) > 1 else "example"
session = requests.Session()


class TokenAuth(requests.auth.AuthBase):
    """Sets Authorization. In headers=, requests would replace it by a login for this host in ~/.netrc."""

    def __init__(self, credential):
        self.credential = credential

    def __call__(self, request):
        request.headers["Authorization"] = f"Token {self.credential}"
        return request


def call(method, path, credential=API_KEY, body=None):
    # json= sends the body with its length, with GET too.
    response = session.request(method, SERVICE_URL + path, json=body, auth=TokenAuth(credential), timeout=30)
    answer = response.json()
    if answer["success"] != 1:
        sys.exit(f"{answer['error']['code']}: {answer['error']['message']}")
    return answer


acme = {"user_group_id": group_id, "name": "Acme", "properties": {"region": "eu"}}
created = call("GET", "/api/user", body=acme)
updated = call("PUT", "/api/user", body={"user_group_id": group_id, "name": "Café Acme"})
old = updated["user_group"]["token"]
token = call("POST", "/api/user", body={"current_token": old})["user_group"]["token"]
viewed = call("GET", "/api/viewer", credential=token)
deleted = call("DELETE", "/api/user", body={"current_token": token})

print(json.dumps({
    "created": created["new_user_group"],
    "updated": updated["user_group"]["name"],
    "rotated": token != old,
    "viewed": viewed["user_group"]["name"],
    "deleted": deleted["success"] == 1,
}))
