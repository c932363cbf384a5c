"""What operators remember: keyed state, timers, snapshots."""
