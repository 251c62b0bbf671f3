"""Which IP addresses are public: those that anybody on the internet reaches alike, and nothing else.

`ipaddress.is_global` differs between versions of Python, and takes multicast and tunnels for global. So the registries
of special-purpose addresses (RFC 6890) are written down here as well. An address has to pass both.
"""

from ipaddress import IPv4Address, IPv6Address, ip_network

IPAddress = IPv4Address | IPv6Address

# IPv6 that is routed on the internet is all in here (RFC 4291 §2.4). What is outside: loopback, unspecified, multicast,
# link-local, unique local, IPv4-mapped and -compatible, NAT64 (64:ff9b::/96, 64:ff9b:1::/48), discard, segment routing.
GLOBAL_UNICAST = ip_network("2000::/3")
NOT_PUBLIC = tuple(
    map(
        ip_network,
        (
            "0.0.0.0/8",  # this network, unspecified
            "10.0.0.0/8",  # private
            "100.64.0.0/10",  # shared by carriers (CGNAT)
            "127.0.0.0/8",  # loopback
            "168.63.129.16/32",  # what Azure's machines ask about themselves; no public host
            "169.254.0.0/16",  # link-local: 169.254.169.254 tells a cloud's credentials
            "172.16.0.0/12",  # private
            "192.0.0.0/24",  # protocol assignments
            "192.0.2.0/24",  # documentation
            "192.88.99.0/24",  # relays of 6to4
            "192.168.0.0/16",  # private
            "198.18.0.0/15",  # benchmarks
            "198.51.100.0/24",  # documentation
            "203.0.113.0/24",  # documentation
            "224.0.0.0/4",  # multicast
            "240.0.0.0/4",  # reserved, broadcast
            "2001::/23",  # protocol assignments, Teredo (2001::/32) among them
            "2001:db8::/32",  # documentation
            "2002::/16",  # 6to4, which holds an IPv4 address
            "3fff::/20",  # documentation
        ),
    )
)


def is_public(address: IPAddress) -> bool:
    """Return whether an address is a public one."""
    if not address.is_global or address.is_multicast or address.is_reserved:
        return False
    if isinstance(address, IPv6Address) and address not in GLOBAL_UNICAST:
        return False
    return not any(address in network for network in NOT_PUBLIC)
