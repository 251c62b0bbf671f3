"""The maximum number of open files and connections of a server process."""

import resource

# Idle ones cost next to nothing, and those that say nothing are ended by the server after half a minute.
MOST_CONNECTIONS = 8192
# Files that are no connections: the database's, Redis's, uploads, code.
OTHER_FILES = 256


def raise_open_files() -> int:
    """Raise RLIMIT_NOFILE as far as needed and allowed; return how many connections that leaves."""
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_CONNECTIONS + OTHER_FILES
    if now != resource.RLIM_INFINITY and now < wanted:
        now = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
        resource.setrlimit(resource.RLIMIT_NOFILE, (now, most))
    return MOST_CONNECTIONS if now == resource.RLIM_INFINITY else max(128, min(MOST_CONNECTIONS, now - OTHER_FILES))
