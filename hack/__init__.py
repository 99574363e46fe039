"""Developer tooling. Nothing in here is shipped in a wheel or an image."""
