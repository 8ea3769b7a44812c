"""Parts of video."""
