-- Put one fragment in the place of many small ones, which a reply of append.lua gave out to be merged.
-- ARGV[1]: msgpack array, see below. ARGV[2]: the merged fragment.

local p = cmsgpack.unpack(ARGV[1])
local asked = {ident = p[1], from = p[2], count = p[3], digest = p[4], open_ttl = p[5], tombstone_ttl = p[6]}

local state = load_state(asked.ident)
if not state or state.status ~= OPEN or state.merged ~= asked.from then return 0 end
local last = asked.from + asked.count - 1
-- Another worker may have appended, merged, or closed and begun again: only the very same fragments are replaced.
if redis.sha1hex(table.concat(redis.call('LRANGE', KEYS[2], asked.from, last))) ~= asked.digest then return 0 end
redis.call('LSET', KEYS[2], asked.from, ARGV[2])
for at = asked.from + 1, last do redis.call('LSET', KEYS[2], at, '') end
redis.call('LREM', KEYS[2], asked.count - 1, '')
state.held, state.merged = state.held - asked.count + 1, asked.from + 1
save_state(state, asked.open_ttl, asked.tombstone_ttl)
return 1
