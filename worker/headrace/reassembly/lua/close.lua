-- Turn a claimed state into a tombstone, or into the next segment: `State.close`.
-- ARGV[1]: msgpack array, see below. ARGV[2]: packed leftover, absent when there is none.

local p = cmsgpack.unpack(ARGV[1])
local asked = {ident = p[1], through = p[2], emitted = p[3], final = p[4], claim = p[5], open_ttl = p[6],
  tombstone_ttl = p[7]}
local leftover = ARGV[2]

local function is_stale(state)
  local claim = asked.claim
  return state.status ~= CLAIMED or (#claim > 0
    and not (state.home == claim[1] and state.claim_offset == claim[2] and state.claim_round == claim[3]))
end

local state, foreign = load_state(asked.ident)
if foreign then return foreign end
if not state or is_stale(state) then return {cmsgpack.pack({asked.ident, 'stale'})} end
local reached = state.source == BODY and -1 or asked.through
if not leftover then reached = math.max(reached, state.numbered and state.limit or state.log_limit) end
state.emitted = asked.emitted
drop_fragments(state, cut(state, reached, asked.final, leftover ~= nil))
if leftover then redis.call('LPUSH', KEYS[2], leftover) end
save_state(state, asked.open_ttl, asked.tombstone_ttl)
return {cmsgpack.pack({asked.ident, state.status == OPEN and 'open' or 'closed'})}
