#!/bin/sh
# Second program of the guest and its process 1: everything a machine needs
# before a test may start, then the agent that runs what the host asks for.
# It stays alive to reap orphans and to power the machine off.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc none /proc
mount -t sysfs none /sys
mount -t cgroup2 none /sys/fs/cgroup
mkdir -p /dev/pts /dev/shm
mount -t devpts -o gid=5,mode=620,ptmxmode=666 none /dev/pts
for place in /dev/shm /run /tmp /var/lib/bluetooth; do
    mkdir -p "$place"
    mount -t tmpfs none "$place"
done
chmod 1777 /tmp /dev/shm
chmod 700 /var/lib/bluetooth
mkdir -p /run/dbus /run/lock
# kubelet and containers need mounts that propagate.
mount --make-rshared /
hostname lab
echo "127.0.0.1 localhost lab" > /etc/hosts

# One at a time: modprobe stops at the first name it does not know.
for module in $(cat /lab/modules); do
    modprobe "$module" || echo "lab: no module $module"
done
/usr/lib/systemd/systemd-udevd --daemon
# Only what tests look at: a whole coldplug loads drivers for half a minute under TCG.
udevadm trigger --action=add --subsystem-match=virtio-ports --subsystem-match=misc \
    --subsystem-match=input --subsystem-match=net
udevadm settle --timeout=30

# QEMU's user network is always the same; no DHCP client is needed.
ip link set lo up
card=$(ls /sys/class/net | grep -v '^lo$' | head -n 1)
if [ -n "$card" ]; then
    ip link set "$card" up
    ip addr add 10.0.2.15/24 dev "$card"
    ip route add default via 10.0.2.2
    echo "nameserver 10.0.2.3" > /etc/resolv.conf
fi

# The port comes when QEMU has answered, which on a busy host is after udev has settled.
for _ in $(seq 300); do
    [ -e /dev/virtio-ports/lab.agent ] && break
    sleep 0.1
done
python3 /lab/agent.py &
wait $!
echo "lab: the agent left with status $?"
sync
echo o > /proc/sysrq-trigger
sleep 30
