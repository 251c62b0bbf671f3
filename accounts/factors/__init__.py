"""Second factors and passkeys: what somebody has, names of devices, first recovery codes, account recovery, staff."""
