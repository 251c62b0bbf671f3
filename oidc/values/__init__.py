"""Values that requests carry, and the reasons to refuse them: parameters, redirect URIs, types of events."""
