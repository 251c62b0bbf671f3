"""Operations: audit trail, provisioning, commands, the operator's overview, and metrics."""
