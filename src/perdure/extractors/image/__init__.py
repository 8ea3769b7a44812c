"""Parts and renderings of images."""
