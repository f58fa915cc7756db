# Sourced: the devices that the kernel makes up, or stacks on the emulated disks. What can not be made is said, and then
# missing from the results, which is a failure.
# shellcheck shell=sh

try() { "$@" >/tmp/said 2>&1 || { echo "failed: $*"; cat /tmp/said; }; }

try modprobe null_blk nr_devices=1 gb=1 submit_queues=2 poll_queues=1
# 32 MiB, thinly provisioned, 4 KiB physical blocks; writes and reads go to memory.
try modprobe scsi_debug dev_size_mb=32 lbpu=1 physblk_exp=3 max_queue=32
try modprobe brd rd_nr=3 rd_size=16384
try modprobe nbd nbds_max=1

try modprobe zram num_devices=1
echo 16M >/sys/block/zram0/disksize
# A page that was never written is not read from anywhere.
try dd if=/bin/busybox of=/dev/zram0 bs=4k conv=sync

try modprobe loop
truncate -s 32M /tmp/loop.img
try losetup /dev/loop0 /tmp/loop.img

# Names a disk by HOW (find.sh), or stops the sourcing shell's device from being made.
on() { echo "/dev/$(await_device "$1")"; }
map() { try dmsetup create "$1" -u "$2" --noudevsync --noudevrules --table "$3"; }
try modprobe dm-mod
map linear LVM-linear "0 32768 linear $(on model:SATA.HDD) 2048"
map crypt CRYPT-PLAIN-crypt "0 32768 crypt aes-xts-plain64 $(printf '%064d' 1) 0 $(on model:SATA.SSD) 2048"

raid() { try mdadm --create "$@" --run --assume-clean --homehost=vm --metadata=1.2; }
# Ram disks, so that the arrays share no disk with another row.
raid /dev/md1 --level=1 --bitmap=none --raid-devices=2 /dev/ram1 /dev/ram2
