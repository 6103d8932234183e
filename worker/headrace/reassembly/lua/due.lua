-- Look at one state for the owner of a partition, and claim it if it is due: `State.fall_due`.
-- ARGV[1]: msgpack array, see below.

local p = cmsgpack.unpack(ARGV[1])
local asked = {ident = p[1], source = p[2], offset = p[3], round = p[4], now = p[5], committed = p[6],
  committed_round = p[7], open_ttl = p[8], tombstone_ttl = p[9]}

local function is_committed(state)
  return state.claim_offset < asked.committed or (state.claim_offset == asked.committed
    and 0 < state.claim_round and state.claim_round <= asked.committed_round)
end

local function fall_due(state)
  if state.status == CLOSED or state.home ~= asked.source then return 'gone' end
  if state.status == CLAIMED then
    if not is_committed(state) then
      if not (state.by_due and state.claim_offset <= asked.offset) then return 'wait' end
      show(state)
      return 'again'
    end
    state.emitted = state.emitted + UNKNOWN_RECORDS
    drop_fragments(state, cut(state, state.numbered and state.limit or state.log_limit, state.settles, false))
    if state.status == CLOSED then return 'gone' end
  end
  if not complete(state) and asked.now < deadline(state) then return 'wait' end
  claim(state, asked.source, asked.offset, asked.round, true)
  return 'ready'
end

local state, foreign = load_state(asked.ident)
if foreign then return foreign end
if not state then return {cmsgpack.pack({asked.ident, 'absent'})} end
local held, status = state.held, state.status
local verdict = fall_due(state)
if verdict == 'ready' or verdict == 'again' or state.held ~= held or state.status ~= status then
  save_state(state, asked.open_ttl, asked.tombstone_ttl)
end
if verdict == 'ready' or verdict == 'again' then
  return answer(state, 'ready', {again = verdict == 'again'}) or lost()
end
return answer(state, verdict, {})
