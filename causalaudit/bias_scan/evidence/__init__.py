"""What speaks for a bias: expectations, scores, the search, null tables, disparities and their stability."""
