# lost-body.pl ID: a chunked GET by HTTP::Tiny, whose body may not arrive. Prints the answer.
use v5.14;
use warnings;
use HTTP::Tiny;
use JSON::PP qw(encode_json);

my @chunks   = encode_json({ user_group_id => shift });
my $response = HTTP::Tiny->new(verify_SSL => 1)->request("GET", "$ENV{SERVICE_URL}/api/user", {
    headers => { "Authorization" => "Token $ENV{API_KEY}", "Content-Type" => "application/json" },
    content => sub { shift @chunks },
});
say $response->{content};
