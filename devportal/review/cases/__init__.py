"""What is checked outside of reviews: cases, and reports of apps."""
