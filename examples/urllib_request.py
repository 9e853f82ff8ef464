"""The life of a user group, with Python's urllib.request."""
import json
import os
import sys
import urllib.error
import urllib.request

SERVICE_URL, API_KEY = os.environ["SERVICE_URL"], os.environ["API_KEY"]
group_id = sys.argv[1] if len(sys.argv) > 1 else "example"


def call(method, path, credential=API_KEY, body=None):
    headers = {"Authorization": f"Token {credential}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()  # bytes: of anything else the length is not sent
    request = urllib.request.Request(SERVICE_URL + path, data, headers, method=method)
    try:
        with urllib.request.urlopen(request) as response:
            return json.load(response)
    except urllib.error.HTTPError as refusal:
        error = json.load(refusal)["error"]
        sys.exit(f"{error['code']}: {error['message']}")


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
