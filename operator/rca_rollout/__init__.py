"""rca-rollout: ships root-cause-analysis components from Shadow to Active, on evidence."""

__version__ = "0.1.0"
