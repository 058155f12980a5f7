#!/bin/busybox sh
# The guest's first process: loads modules, puts this machine's root file system under a layer in memory, makes the
# RDMA devices, runs the job of /job.sh and reports its exit status. Its own messages go to the console.
/bin/busybox --install -s /bin
export PATH=/bin:/usr/sbin:/usr/bin:/sbin

fail() {
  echo "rdma-lab: $*"
  poweroff -f
}

mount_root() {
  mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000,cache=loose,ro root /lower || fail "no root"
  mount -t tmpfs layers /layers && mkdir /layers/upper /layers/work
  mount -t overlay -o lowerdir=/lower,upperdir=/layers/upper,workdir=/layers/work root /root || fail "no layer"
  mount -t sysfs sys /root/sys && mount -t devtmpfs dev /root/dev && mount -t tmpfs run /root/run
  mkdir -p /root/dev/shm /root/dev/pts && mount -t tmpfs shm /root/dev/shm && mount -t devpts pts /root/dev/pts
  mkdir -m 0700 /root/run/lab
}

# mount_results PATH: files that are written there stay on this machine.
mount_results() {
  mkdir -p "/root$1" && mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000,cache=mmap results "/root$1" ||
    fail "cannot mount the directory for results"
}

in_root() { chroot /root /usr/bin/env "$@" || fail "$* failed"; }

# add_device NUMBER: rxe<number> over the interface lab<number>, which has the address 10.9.0.<number + 1>.
add_device() {
  in_root ip addr add "10.9.0.$(($1 + 1))/24" dev "lab$1"
  in_root ip link set "lab$1" mtu 9000 up
  in_root rdma link add "rxe$1" type rxe netdev "lab$1"
}

add_one_device() {
  in_root ip link add lab0 type dummy
  add_device 0
}

# Both ends are in one network name space, as rxe needs it; so the kernel must accept packets from its own addresses.
add_pair() {
  for kind in all default; do
    echo 1 >/proc/sys/net/ipv4/conf/$kind/accept_local
    echo 0 >/proc/sys/net/ipv6/conf/$kind/accept_dad
  done
  in_root ip link add lab0 type veth peer name lab1
  in_root ip link set lab1 up
  add_device 0
  add_device 1
  introduce 0 1
  introduce 1 0
}

# introduce NUMBER OTHER: makes the neighbour's address known in advance. Without it, the first request for a connection
# can be lost while the address is being resolved, and the kernel sends it again only after many seconds.
introduce() {
  in_root ip neigh replace "10.9.0.$(($2 + 1))" lladdr "$(cat "/sys/class/net/lab$2/address")" dev "lab$1" nud permanent
}

# In a name space of processes: when its first process ends, the kernel ends all others, and their pipes close.
run_job() {
  mkfifo /out /err
  cat </out >/dev/vport0p1 &
  cat </err >/dev/vport0p2 &
  unshare -p -f sh -c 'mount -t proc proc /root/proc; . /job.sh; run_command; exit $?' </dev/null >/out 2>/err
  status=$?
  wait
  sync
  echo "exit $status" >/dev/vport0p3
}

mount -t proc proc /proc && mount -t sysfs sys /sys && mount -t devtmpfs dev /dev
for module in /modules/*; do
  insmod "$module" || fail "cannot load $module"
done
until [ -c /dev/vport0p3 ]; do sleep 0.02; done
. /job.sh
ulimit -l unlimited
mount_root
ip link set lo up
set_up
echo running >/dev/vport0p3
run_job
poweroff -f
