"""An emulated cluster: an API server on kmock, a kubelet played by hand, and a loop whose clock can jump."""
