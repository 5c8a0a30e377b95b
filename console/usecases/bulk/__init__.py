"""Actions on many messages: what is asked, what it costs, a canary first, files of what matches."""
