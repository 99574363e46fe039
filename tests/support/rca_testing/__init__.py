"""What tests of several rings share."""
