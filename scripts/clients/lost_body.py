"""lost_body.py CLIENT chunked|no-length ID: a GET by Python whose body may not arrive. Prints the answer."""
import http.client
import json
import os
import sys
import urllib.error
import urllib.request
from urllib.parse import urlsplit

_, client, way, group_id = sys.argv
url = os.environ["SERVICE_URL"] + "/api/user"
headers = {"Authorization": f"Token {os.environ['API_KEY']}", "Content-Type": "application/json"}
body = json.dumps({"user_group_id": group_id}).encode()


def connect():
    https = urlsplit(url).scheme == "https"
    return (http.client.HTTPSConnection if https else http.client.HTTPConnection)(urlsplit(url).netloc)


def urllib_chunked():
    request = urllib.request.Request(url, iter([body]), headers, method="GET")
    try:
        return urllib.request.urlopen(request)
    except urllib.error.HTTPError as refusal:
        return refusal


def http_client_chunked():
    connection = connect()
    connection.request("GET", urlsplit(url).path, iter([body]), headers)
    return connection.getresponse()


def http_client_no_length():
    connection = connect()
    connection.putrequest("GET", urlsplit(url).path)
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders(body)
    return connection.getresponse()


gets = {
    "urllib.request chunked": urllib_chunked,
    "http.client chunked": http_client_chunked,
    "http.client no-length": http_client_no_length,
}
print(gets[f"{client} {way}"]().read().decode())
