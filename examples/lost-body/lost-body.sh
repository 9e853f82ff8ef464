#!/usr/bin/env bash
# lost-body.sh chunked|no-length ID: a GET by curl whose body may not arrive. Prints the answer.
set -euo pipefail
case $1 in
  chunked) framing='Transfer-Encoding: chunked' ;;
  no-length) framing='Content-Length:' ;;
esac
curl -sS -X GET "$SERVICE_URL/api/user" -H @<(printf 'Authorization: Token %s' "$API_KEY") \
  -H 'Content-Type: application/json' -H "$framing" -d "{\"user_group_id\":\"$2\"}"
