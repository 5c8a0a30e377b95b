"""What reads, as operations without input or output; bounded, and true at the moment of the answer."""
