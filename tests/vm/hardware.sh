# Sourced: the emulated machine and its disks, as arguments of qemu in the array `hardware`, over sparse files in $work.
# The guest finds a disk by the model or serial number that it is given here, since names differ from boot to boot.
# shellcheck shell=bash

hardware=()
add() { hardware+=("$@"); }
# disk ID SIZE [OPTION]: a drive over an empty file.
disk() {
    truncate -s "$2" "$work/$1.img"
    add -drive "file=$work/$1.img,format=raw,if=none,id=$1${3:+,$3}"
}

# Paravirtual.
disk vblk 32M
add -device virtio-blk-pci,drive=vblk,num-queues=2
disk vblk4k 32M
add -device virtio-blk-pci,drive=vblk4k,num-queues=1,logical_block_size=4096,physical_block_size=4096
add -device virtio-scsi-pci,id=vscsi,num_queues=2
disk vhdd 32M
add -device scsi-hd,bus=vscsi.0,lun=0,drive=vhdd,rotation_rate=7200,vendor=ACME,product=VIRTIO-HDD,serial=VMVHDD1
disk vssd 32M discard=unmap
add -device scsi-hd,bus=vscsi.0,lun=1,drive=vssd,rotation_rate=1,vendor=ACME,product=VIRTIO-SSD,serial=VMVSSD1

# A SAS controller, and the SATA ports of the board.
add -device megasas,id=sas
disk sashdd 32M
add -device scsi-hd,bus=sas.0,drive=sashdd,rotation_rate=10000,vendor=ACME,product=SAS-HDD,serial=VMSAS1
disk satahdd 32M
add -device ide-hd,bus=ide.0,drive=satahdd,rotation_rate=5400,model="ACME SATA HDD",serial=VMHDD1
disk satassd 32M
add -device ide-hd,bus=ide.1,drive=satassd,rotation_rate=1,model="ACME SATA SSD",serial=VMSSD1
disk cd 4M media=cdrom
add -device ide-cd,bus=ide.2,drive=cd,model="ACME DVD",serial=VMCD1

# USB: a stick, and a disk in an enclosure that speaks UAS. An SD card.
add -device qemu-xhci,id=xhci
disk stick 32M
add -device usb-storage,bus=xhci.0,drive=stick,removable=on,serial=VMUSB1
add -device usb-uas,bus=xhci.0,id=uas
disk uasdisk 32M
add -device scsi-hd,bus=uas.0,drive=uasdisk,vendor=ACME,product=UAS-DISK,serial=VMUAS1
disk card 32M
add -device sdhci-pci -device sd-card,drive=card

# NVMe: one of each block size, a zoned one, and a namespace behind two controllers.
# Queues for two CPUs and one to poll.
add -device nvme,id=nvme0,serial=VMNVME1,max_ioqpairs=4
disk nvme512 32M
add -device nvme-ns,bus=nvme0,nsid=1,drive=nvme512
disk nvme4k 32M
add -device nvme-ns,bus=nvme0,nsid=2,drive=nvme4k,logical_block_size=4096,physical_block_size=4096
add -device nvme,id=nvmez,serial=VMNVMZ1
disk zoned 64M
add -device nvme-ns,bus=nvmez,nsid=1,drive=zoned,zoned=true,zoned.zone_size=8M,zoned.zone_capacity=8M
add -device nvme-subsys,id=both,nqn=blktune
add -device nvme,id=path0,serial=VMNVMP1,subsys=both -device nvme,id=path1,serial=VMNVMP1,subsys=both
disk shared 32M
add -device nvme-ns,bus=path0,nsid=1,drive=shared,shared=on

# Persistent memory.
truncate -s 128M "$work/pmem.img"
add -object "memory-backend-file,id=pmem,share=on,mem-path=$work/pmem.img,size=128M"
add -device virtio-pmem-pci,memdev=pmem
