"""A Kubernetes cluster for people who have none: `python -m hack.cluster up`."""
