"""Models of images by name."""
