# Sourced: which device is meant, since names differ from boot to boot.
# shellcheck shell=sh

# find_device HOW: prints the kernel name of the device that is
#   name:N     called so
#   model:M    of a model that holds M
#   nvme:S:I   namespace I of the NVMe controller with serial number S, as one opens it
#   path:S     a hidden path to a namespace of S
#   stick      behind usb-storage
#   debug      made by scsi_debug
#   dm:N       mapped under this name
find_device() {
    for b in /sys/block/*; do
        case $1 in
            name:*) [ "${b##*/}" = "${1#name:}" ] ;;
            model:*) grep -qs "${1#model:}" "$b/device/model" ;;
            nvme:*) [ -e "$b/dev" ] && is_namespace "$b" "${1#nvme:}" ;;
            path:*) [ ! -e "$b/dev" ] && grep -qs "${1#path:}" "$b/device/serial" ;;
            stick) readlink -f "$b" | grep -q /usb && ! grep -qs UAS "$b/device/model" ;;
            debug) grep -qs scsi_debug "$b/device/model" ;;
            dm:*) grep -qsx "${1#dm:}" "$b/dm/name" ;;
        esac && { echo "${b##*/}"; return 0; }
    done
    return 1
}

is_namespace() { # BLOCK SERIAL:NSID
    grep -qs "${2%:*}" "$1/device/serial" && [ "$(cat "$1/nsid" 2>/dev/null)" = "${2#*:}" ]
}

# await_device HOW: the same, for a bus that takes its time (USB, SD, NVMe paths); gives up after half a minute.
await_device() {
    tries=0
    while ! find_device "$1"; do
        tries=$((tries + 1))
        [ $tries -lt 150 ] || return 1
        sleep 0.2
    done
}
