#!/usr/bin/env bash
# Runs a command inside a separate Debian, which debootstrap creates at first use (needs root and Linux):
#
#     benchmarks/in_debian.sh /usr/bin/python3 --version
#
# The command uses the programs and libraries of that release. Devices, network, /tmp, this checkout and the working
# directory are those of the machine. Only the command can see the mounts, and they end with it. It replaces this
# process, so it has the same process id. DEBIAN_RELEASE selects another release than trixie.
set -euo pipefail
release=${DEBIAN_RELEASE:-trixie}
here=$PWD
checkout=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
root=$checkout/.cache/benchmarks/debian-$release

if [[ ! -e $root ]]; then
    # The mirror from which this machine gets its packages, if it is a Debian.
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
        grep --extended-regexp --max-count 1 '/debian/?$' || true)
    rm -rf "$root.partial"
    mkdir -p "$root.partial"
    debootstrap --variant=minbase --include=python3,ca-certificates "$release" "$root.partial" $mirror >&2
    mv "$root.partial" "$root"
fi

folders=(/dev /proc /tmp "$checkout")
mkdir -p "${folders[@]/#/$root}"
# The network configuration and certificates of this machine.
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
