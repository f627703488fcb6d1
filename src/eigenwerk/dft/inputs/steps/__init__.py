"""The steps from tags to inputs."""
