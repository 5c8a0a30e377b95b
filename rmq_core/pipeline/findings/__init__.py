"""Where messages must be beside where they are → findings, each with its evidence and its repair."""
