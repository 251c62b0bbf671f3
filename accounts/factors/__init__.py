"""Passkeys and two-step verification: factors, names of devices, first recovery codes, account recovery, staff."""
