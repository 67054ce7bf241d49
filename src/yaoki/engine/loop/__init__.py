"""The worker process: slots, claims, heartbeats and what runs alongside them."""
