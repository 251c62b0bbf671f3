#!/usr/bin/env bash
# Runs a command inside a Debian of its own, which debootstrap makes at first use (root, Linux):
#
#     benchmarks/in_debian.sh /usr/bin/python3 --version
#
# Inside are that release's programs and libraries; devices, network, /tmp, this checkout and the working directory are
# the machine's. The mounts are seen by the command alone, and end with it; it keeps the id of this process.
# DEBIAN_RELEASE names another release than trixie.
set -euo pipefail
release=${DEBIAN_RELEASE:-trixie}
here=$PWD
checkout=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
root=$checkout/.cache/benchmarks/debian-$release

if [[ ! -e $root ]]; then
    # From where this machine gets its own packages, if it is a Debian.
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
        grep --extended-regexp --max-count 1 '/debian/?$' || true)
    rm -rf "$root.partial"
    mkdir -p "$root.partial"
    debootstrap --variant=minbase --include=python3,ca-certificates "$release" "$root.partial" $mirror >&2
    mv "$root.partial" "$root"
fi

folders=(/dev /proc /tmp "$checkout")
mkdir -p "${folders[@]/#/$root}"
# How this machine reaches the network, certificates included.
files=(/etc/resolv.conf /etc/hosts)
if [[ -e /etc/ssl/certs/ca-certificates.crt ]]; then files+=(/etc/ssl/certs/ca-certificates.crt); fi
touch "${files[@]/#/$root}"

exec unshare --mount bash -euc '
    root=$1 here=$2
    shift 2
    while [[ $1 != -- ]]; do
        mount --rbind "$1" "$root$1"
        shift
    done
    exec chroot "$root" env --chdir="$here" "${@:2}"
' in_debian.sh "$root" "$here" "${folders[@]}" "${files[@]}" -- "$@"
