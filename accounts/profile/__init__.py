"""What apps learn about a person: claims, pairwise subjects, pictures, and where profiles come from."""
