"""The notions of fair recourse (Kavouras et al. 2023, sections 2.2 and 2.3), and who is worse off by each."""
