# A client that OpenAPI::Client generates from /openapi-3.0.json: it makes the calls of a group's life, and prints what it got as JSON.
use strict;
use warnings;
use OpenAPI::Client;
use Mojo::JSON qw(encode_json true);

my $url = $ENV{SERVICE_URL};
my $client = OpenAPI::Client->new("$url/openapi-3.0.json", base_url => $url);
my $credential = $ENV{API_KEY};
$client->ua->on(start => sub { $_[1]->req->headers->authorization("Bearer $credential") });

sub answer {
  my ($operation, $body, %parameters) = @_;
  my $tx = $client->call($operation, {%parameters, ($body ? (body => $body) : ())});
  my $json = $tx->res->json // die "$operation: " . encode_json($tx->error);
  return ($json, $tx->res->code);
}

my ($created, $status) =
  answer(createUserGroup => {user_group_id => "from perl", properties => {region => "eu", plans => ["pro"]}});
my $first = $created->{user_group}{token};
my ($rotated) = answer(rotateToken => {current_token => $first});
my $token = $rotated->{user_group}{token};
$credential = $token;
my ($viewed) = answer("viewUserGroup");
$credential = $ENV{API_KEY};
my ($refused) = answer(removeUserGroup => {current_token => $first});
my ($deleted) = answer(removeUserGroup => {current_token => $token});
my ($listed) = answer(listEvents => undef, user_group_id => "from perl");

print encode_json({
  created => [0 + $status, $created->{new_user_group}],
  rotated => $token ne $first ? true : undef,
  viewed => $viewed->{user_group}{properties},
  refused => $refused->{error}{code},
  deleted => $deleted->{success},
  events => [map { $_->{type} } @{$listed->{events}}],
});
