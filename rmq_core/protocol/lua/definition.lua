-- A topic's definition; reads only. A script, so that what many callers ask goes along one line: each plain command of
-- theirs takes a connection of its own.
-- KEYS   the namespace's format, the definitions
-- ARGV   name
-- reply  {format (false for none), definition (false for none)}
return {redis.call('GET', KEYS[1]), redis.call('HGET', KEYS[2], ARGV[1])}
