"""What is asked of a bias scan: the criterion, the people, their features, and the people counted."""
