"""What people do with the queue, for pages and the API alike: allowed, checked, done, recorded."""
