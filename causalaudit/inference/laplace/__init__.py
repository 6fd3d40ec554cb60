"""The Laplace approximation: the highest points of a posterior, proposals around them, and importance draws."""
