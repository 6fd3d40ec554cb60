"""How posteriors are drawn: the registry of methods, NUTS, variational guides, and the coordinates they work in."""
