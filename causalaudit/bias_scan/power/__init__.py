"""How well scans find a bias that was injected (section 3 of the paper)."""
