# boot-systemd.sh RELEASES INIT [ARGUMENT...]: runs INIT as process 1 of a small machine, which has each folder of RELEASES in
# /opt/user-group-service.
#
# Its root is a file system in memory, in which /usr and the releases are read-only and nothing else of this machine exists: what an init
# empties, mounts or writes at its start is its own. It must run in mount, PID, UTS, IPC, network and cgroup namespaces of its own.
# CONTROLLERS names the version 1 hierarchies of cgroups; without it, all controllers belong to version 2.
set -eu
releases=$1
shift
mount --make-rprivate /

# Each machine has /sys, and the new root needs no file of it.
mount -t tmpfs -o mode=755 tmpfs /sys
cd /sys
mkdir -p usr etc/systemd/system old opt/user-group-service root run dev proc sys tmp var/lib var/log/journal var/tmp
chmod 1777 tmp var/tmp
ln -s ../run var/run
for link in /bin /sbin /lib /lib32 /lib64; do
  if [ -L "$link" ]; then cp -P "$link" .; fi
done
mount --bind /usr usr
mount -o remount,bind,ro usr
for release in "$releases"/*; do
  at=opt/user-group-service/${release##*/}
  mkdir "$at"
  mount --bind "$release" "$at"
  mount -o remount,bind,ro "$at"
done

mount -t tmpfs -o mode=755 tmpfs run
mount -t tmpfs -o mode=755 tmpfs dev
mkdir dev/pts dev/shm
mount -t tmpfs -o mode=1777 tmpfs dev/shm
mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
mknod -m 666 dev/null c 1 3
mknod -m 666 dev/zero c 1 5
mknod -m 666 dev/full c 1 7
mknod -m 666 dev/random c 1 8
mknod -m 666 dev/urandom c 1 9
mknod -m 666 dev/tty c 5 0

mount -t proc proc proc
# systemd raises limits of the kernel there, which are those of the whole machine.
for file in proc/sys proc/sysrq-trigger; do
  if [ -e "$file" ]; then
    mount --bind "$file" "$file"
    mount -o remount,bind,ro "$file"
  fi
done
mount -t sysfs -o ro sysfs sys
if [ -z "${CONTROLLERS-}" ]; then
  mount -t cgroup2 cgroup2 sys/fs/cgroup
else
  mount -t tmpfs -o mode=755 tmpfs sys/fs/cgroup
  mkdir sys/fs/cgroup/unified
  mount -t cgroup2 cgroup2 sys/fs/cgroup/unified
  for controller in $CONTROLLERS; do
    mkdir "sys/fs/cgroup/${controller#name=}"
    mount -t cgroup -o "$controller" cgroup "sys/fs/cgroup/${controller#name=}"
  done
  # systemd would mount the hierarchies that are missing.
  mount -o remount,ro sys/fs/cgroup
fi

cp /etc/ld.so.cache etc/
echo 'passwd: files systemd
group: files systemd' >etc/nsswitch.conf
echo 'root:x:0:0::/root:/bin/sh
nobody:x:65534:65534::/nonexistent:/usr/sbin/nologin
user-group-service:x:900:900::/var/lib/user-group-service:/usr/sbin/nologin
user-group-service-backup:x:902:900::/var/lib/user-group-service-backup:/usr/sbin/nologin' >etc/passwd
echo 'root:x:0:
nogroup:x:65534:
systemd-journal:x:901:
user-group-service:x:900:' >etc/group
echo user-group-service >etc/hostname
tr -d - <proc/sys/kernel/random/uuid >etc/machine-id
# All other units of this machine, such as the one that empties /tmp, do not exist in the new root.
for unit in basic.target sysinit.target sockets.target timers.target slices.target shutdown.target \
  systemd-journald.service systemd-journald.socket systemd-journald-dev-log.socket; do
  cp "/lib/systemd/system/$unit" etc/systemd/system/
done
echo '[Unit]
Requires=basic.target
Wants=systemd-journald.service
After=basic.target systemd-journald.service
AllowIsolate=true' >etc/systemd/system/ug-test.target

pivot_root . old
exec chroot . sh -euc '
umount -l /old
rmdir /old
# Init must not start if it could write anything but its own memory.
while read -r _ _ _ _ at options rest; do
  type=${rest#*- }
  case "$at ${type%% *}" in
    "/ tmpfs" | "/dev tmpfs" | "/dev/pts devpts" | "/dev/shm tmpfs" | "/run tmpfs" | "/proc proc" | /sys/fs/cgroup*) ;;
    *) case $options in
      ro | ro,*) ;;
      *) echo "boot-systemd.sh: $at is writable: $options $rest" >&2; exit 1 ;;
    esac ;;
  esac
done </proc/self/mountinfo
# systemd passes credentials to a service through mounts that only a shared root propagates.
mount --make-rshared /
# Clock, modules and raw devices are those of the whole machine.
exec setpriv --bounding-set=-sys_time,-sys_module,-sys_rawio,-sys_boot,-syslog,-mknod,-mac_admin,-mac_override \
  env -i container=ug-test PATH=/usr/sbin:/usr/bin SYSTEMD_UNIT_PATH=/etc/systemd/system SYSTEMD_GENERATOR_PATH=/nonexistent \
  SYSTEMD_ENVIRONMENT_GENERATOR_PATH=/nonexistent "$@"
' sh "$@"
