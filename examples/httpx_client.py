"""The life of a user group, with Python's httpx."""
import json
import os
import sys

import httpx

API_KEY = os.environ["API_KEY"]
group_id = sys.argv[1] if len(sys.argv) > 1 else "example"
client = httpx.Client(base_url=os.environ["SERVICE_URL"], timeout=30)


def call(method, path, credential=API_KEY, body=None):
    # request() sends a body with any method; get() and delete() take none.
    response = client.request(method, path, json=body, headers={"Authorization": f"Token {credential}"})
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
