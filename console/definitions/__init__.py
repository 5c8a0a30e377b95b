"""Topic definitions as people edit them: what a change would do, saving it, and who changed what when and why.

The definitions themselves live in Redis, where every client and worker reads them; here is what the console adds.
"""
