"""What was here before it got its place."""
