"""Who consumes which slot: everybody everything, or one owner per slot through ZooKeeper, fenced in Redis."""
