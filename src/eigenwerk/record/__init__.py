"""What a run records about itself: phases, traffic, timelines, and the clock of a device."""
