#!/usr/bin/env bash
# The life of a user group, with curl.
set -euo pipefail
id=${1:-example}

# call METHOD PATH CREDENTIAL [BODY]: prints the answer. Credentials go through pipes: arguments are for all to see.
call() {
  local answer
  answer=$(curl -sS -X "$1" "$SERVICE_URL$2" -H @<(printf 'Authorization: Token %s' "$3") \
    ${4:+-H 'Content-Type: application/json' -d @-} <<<"${4:-}")
  [[ $answer == '{"success":1'* ]] || { echo "$answer" >&2; exit 1; }
  echo "$answer"
}
field() { sed -E "s/.*\"$1\":\"?([^\",}]*).*/\1/" <<<"$2"; }

created=$(call GET /api/user "$API_KEY" "{\"user_group_id\":\"$id\",\"name\":\"Acme\",\"properties\":{\"region\":\"eu\"}}")
updated=$(call PUT /api/user "$API_KEY" "{\"user_group_id\":\"$id\",\"name\":\"Café Acme\"}")
old=$(field token "$updated")
rotated=$(call POST /api/user "$API_KEY" "{\"current_token\":\"$old\"}")
token=$(field token "$rotated")
viewed=$(call GET /api/viewer "$token")
call DELETE /api/user "$API_KEY" "{\"current_token\":\"$token\"}" >/dev/null

printf '{"created":%s,"updated":"%s","rotated":%s,"viewed":"%s","deleted":true}\n' \
  "$(field new_user_group "$created")" "$(field name "$updated")" \
  "$([[ $token != "$old" ]] && echo true || echo false)" "$(field name "$viewed")"
