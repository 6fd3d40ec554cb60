"""What a bias scan answers, its plots, and several scans judged together."""
