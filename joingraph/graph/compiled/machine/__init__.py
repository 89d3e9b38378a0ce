"""The machine operations of kernels, and the decorator that compiles and caches them."""
