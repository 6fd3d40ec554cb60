"""What runs in the environments of other packages, and the environments themselves."""
