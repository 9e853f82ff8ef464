# The life of a user group, with Perl's HTTP::Tiny.
use v5.14;
use utf8;
use warnings;
use HTTP::Tiny;
use JSON::PP qw(decode_json encode_json);

binmode STDERR, ':encoding(UTF-8)';

my $http = HTTP::Tiny->new(verify_SSL => 1);
my $id = shift // "example";

sub call {
    my ($method, $path, $credential, $body) = @_;
    my $response = $http->request($method, $ENV{SERVICE_URL} . $path, {
        headers => { "Authorization" => "Token $credential", "Content-Type" => "application/json" },
        $body ? (content => encode_json($body)) : (),
    });
    die $response->{content} if $response->{status} == 599;    # HTTP::Tiny's own, when there was no answer
    my $answer = decode_json($response->{content});
    die "$answer->{error}{code}: $answer->{error}{message}\n" unless $answer->{success};
    return $answer;
}

my $acme = { user_group_id => $id, name => "Acme", properties => { region => "eu" } };
my $created = call("GET", "/api/user", $ENV{API_KEY}, $acme);
my $updated = call("PUT", "/api/user", $ENV{API_KEY}, { user_group_id => $id, name => "Café Acme" });
my $old     = $updated->{user_group}{token};
my $token   = call("POST", "/api/user", $ENV{API_KEY}, { current_token => $old })->{user_group}{token};
my $viewed  = call("GET", "/api/viewer", $token);
my $deleted = call("DELETE", "/api/user", $ENV{API_KEY}, { current_token => $token });

say encode_json({
    created => $created->{new_user_group},
    updated => $updated->{user_group}{name},
    rotated => $token ne $old ? JSON::PP::true : JSON::PP::false,
    viewed  => $viewed->{user_group}{name},
    deleted => $deleted->{success} ? JSON::PP::true : JSON::PP::false,
});
