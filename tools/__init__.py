"""What keeps the repository in order, beside the package."""
