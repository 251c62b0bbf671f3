"""The request log and the sign-in log: what an address narrows them to, and what each line says."""
