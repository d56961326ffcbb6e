"""What the original calls experimental."""
