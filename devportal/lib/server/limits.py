"""How many connections a process of the server may have."""

import resource

# Idle ones cost next to nothing, and those that say nothing are ended by the server after half a minute.
MOST_CONNECTIONS = 8192
# Files that are no connections: the database's, Redis's, uploads, code.
OTHER_FILES = 256


def raise_open_files() -> int:
    """Allow this process and its children as many open files as they may have; return how many may be connections."""
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_CONNECTIONS + OTHER_FILES
    if now != resource.RLIM_INFINITY and now < wanted:
        now = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
        resource.setrlimit(resource.RLIMIT_NOFILE, (now, most))
    return MOST_CONNECTIONS if now == resource.RLIM_INFINITY else max(128, min(MOST_CONNECTIONS, now - OTHER_FILES))
