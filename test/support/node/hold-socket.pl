# hold-socket.pl COMMAND...: a supervisor like systemd with a socket unit. It opens a socket on 127.0.0.1, prints its port, and
# runs the command with the socket as file descriptor 3, again whenever it has ended, until SIGTERM.
use strict;
use warnings;
use Socket qw(:DEFAULT IPPROTO_TCP);

$^F = 3;
socket(my $socket, PF_INET, SOCK_STREAM, 0) or die "socket: $!";
die "The socket is not descriptor 3" unless fileno($socket) == 3;
bind($socket, sockaddr_in(0, INADDR_LOOPBACK)) or die "bind: $!";
# As DeferAcceptSec of the socket unit: TCP_DEFER_ACCEPT is option 9 of Linux.
setsockopt($socket, IPPROTO_TCP, 9, 5) if $^O eq 'linux';
listen($socket, 4096) or die "listen: $!";
my ($port) = sockaddr_in(getsockname($socket));
$| = 1;
print "port $port\n";
my $child;
$SIG{TERM} = sub { kill 'TERM', $child if $child; waitpid($child, 0) if $child; exit 0 };
while (1) {
  $child = fork();
  if ($child == 0) { exec(@ARGV) or exit 127 }
  waitpid($child, 0);
  print "ended $?\n";
}
