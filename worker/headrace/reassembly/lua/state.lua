-- One call's state: the rules of reassembly/state.py, name by name. Whoever changes one changes the other.
--
-- KEYS[1] holds the state, a msgpack array: a tombstone is its first part, an open state has the second, a claimed
-- one the third. KEYS[2] is the list of packed fragments, gone when there are none.

local VERSION = 1
local OPEN, CLAIMED, CLOSED = 0, 1, 2
local MIXED, BODY = '*', '='
local UNIT = -2
local MAX_ORDER = 9007199254740991
local UNKNOWN_RECORDS = 1048576

-- What is packed, in order (literal tables: they cost Redis half of what loops over names would):
--   tombstone  version ident status numbered final emitted through log_through source gaps
--   segment    intervals hard log_top log_hard loose soft count last_seen idle grace home held merged
--   claim      claim_offset claim_round by_due settles limit log_limit answered settled
-- merged: how many of the first fragments are not worth merging (again); see compact.lua. state.py has no such thing.

local function new_state(ident)
  return {version = VERSION, ident = ident, status = OPEN, numbered = false, final = false, emitted = 0, through = -1,
    log_through = -1, source = '', gaps = {},
    intervals = {}, hard = -1, log_top = -1, log_hard = -1, loose = false, soft = false, count = -1, last_seen = 0,
    idle = 0, grace = 0, home = '', held = 0, merged = 0,
    claim_offset = -1, claim_round = 0, by_due = false, settles = false, limit = -1, log_limit = -1, answered = 0,
    settled = 0}
end

-- The state, or nil when it is absent; a second value is the error of a key that holds another call's state.
local function load_state(ident)
  local raw = redis.call('GET', KEYS[1])
  if not raw then return nil end
  local p = cmsgpack.unpack(raw)
  if p[1] ~= VERSION or p[2] ~= ident then return nil, redis.error_reply('FOREIGNSTATE ' .. KEYS[1]) end
  if p[3] == CLOSED then
    local state = new_state(ident)
    state.status, state.numbered, state.final, state.emitted = CLOSED, p[4], p[5], p[6]
    state.through, state.log_through, state.log_top, state.source, state.gaps = p[7], p[8], p[8], p[9], p[10]
    return state
  end
  return {version = VERSION, ident = ident, status = p[3], numbered = p[4], final = p[5], emitted = p[6], through = p[7],
    log_through = p[8], source = p[9], gaps = p[10],
    intervals = p[11], hard = p[12], log_top = p[13], log_hard = p[14], loose = p[15], soft = p[16], count = p[17],
    last_seen = p[18], idle = p[19], grace = p[20], home = p[21], held = p[22], merged = p[23],
    claim_offset = p[24] or -1, claim_round = p[25] or 0, by_due = p[26] or false, settles = p[27] or false,
    limit = p[28] or -1, log_limit = p[29] or -1, answered = p[30] or 0, settled = p[31] or 0}
end

local function packed_state(s)
  if s.status == CLOSED then
    return cmsgpack.pack({VERSION, s.ident, CLOSED, s.numbered, s.final, s.emitted, s.through, s.log_through, s.source,
      s.gaps})
  elseif s.status == OPEN then
    return cmsgpack.pack({VERSION, s.ident, OPEN, s.numbered, s.final, s.emitted, s.through, s.log_through, s.source,
      s.gaps, s.intervals, s.hard, s.log_top, s.log_hard, s.loose, s.soft, s.count, s.last_seen, s.idle, s.grace,
      s.home, s.held, s.merged})
  end
  return cmsgpack.pack({VERSION, s.ident, CLAIMED, s.numbered, s.final, s.emitted, s.through, s.log_through, s.source,
    s.gaps, s.intervals, s.hard, s.log_top, s.log_hard, s.loose, s.soft, s.count, s.last_seen, s.idle, s.grace, s.home,
    s.held, s.merged, s.claim_offset, s.claim_round, s.by_due, s.settles, s.limit, s.log_limit, s.answered, s.settled})
end

local function save_state(state, open_ttl, tombstone_ttl)
  local ttl = state.status == CLOSED and tombstone_ttl or open_ttl
  redis.call('SET', KEYS[1], packed_state(state), 'EX', ttl)
  if state.status ~= CLOSED and state.held > 0 then redis.call('EXPIRE', KEYS[2], ttl) end
end

-- State and fragments are two keys: if a server evicted one of them, the other goes and the caller is told.
local function lost()
  redis.call('DEL', KEYS[1], KEYS[2])
  return redis.error_reply('LOSTSTATE ' .. KEYS[1])
end

-- Intervals

local function union(left, right)
  if #left == 0 then return right end
  local newest = left[#left]
  if #right == 1 and right[1][1] > newest[1] and right[1][1] <= newest[2] + 1 then
    newest[2] = math.max(newest[2], right[1][2])  -- The next pieces in order: nearly always.
    return left
  end
  local all, merged = {}, {}
  for _, each in ipairs(left) do all[#all + 1] = each end
  for _, each in ipairs(right) do all[#all + 1] = each end
  table.sort(all, function(a, b) return a[1] < b[1] end)
  for _, each in ipairs(all) do
    local newest = merged[#merged]
    if newest and each[1] <= newest[2] + 1 then
      newest[2] = math.max(newest[2], each[2])
    else
      merged[#merged + 1] = {each[1], each[2]}
    end
  end
  return merged
end

local function beyond(intervals, through)
  local rest = {}
  for _, each in ipairs(intervals) do
    if each[2] > through then rest[#rest + 1] = {math.max(each[1], through + 1), each[2]} end
  end
  return rest
end

local function overlap(left, right)
  local both = {}
  for _, one in ipairs(left) do
    for _, other in ipairs(right) do
      if one[1] <= other[2] and other[1] <= one[2] then
        both[#both + 1] = {math.max(one[1], other[1]), math.min(one[2], other[2])}
      end
    end
  end
  return both
end

-- What the state is

local function top(state)
  local newest = state.intervals[#state.intervals]
  return newest and newest[2] or state.through
end

local function compares(state)
  return state.source ~= MIXED and state.source ~= BODY
end

local function complete(state)
  if state.final then return true end
  if state.numbered then
    if #state.intervals ~= 1 or state.intervals[1][1] ~= state.through + 1 then return false end
    if state.count >= 0 then return top(state) + 1 >= state.count end
    return state.hard == top(state)
  end
  return compares(state) and state.log_top > state.log_through and state.log_hard >= state.log_top
end

local function deadline(state)
  local ending = state.soft or state.hard >= 0 or state.log_hard >= 0
  return state.last_seen + (ending and state.grace or state.idle)
end

-- Header of an answer (redis_reply.py reads it), then the fragments when the outcome is "ready".
local function answer(state, outcome, options)
  local through, limit, reach = -1, -1, -1
  if state.numbered then
    through, limit, reach = state.through, state.limit, top(state)
  elseif compares(state) and not options.elsewhere then
    through, limit, reach = state.log_through, state.log_limit, state.log_top
  end
  local ready = outcome == 'ready'
  if not (ready and (options.again or limit < reach)) then limit = -1 end
  local reply = {cmsgpack.pack({state.ident, outcome, through, limit, state.emitted, state.final, state.numbered,
    options.late or {}, options.kept ~= false, state.status, state.home, state.claim_offset, state.claim_round,
    state.due_since or deadline(state), options.again or false, options.merge_from or -1,
    state.source == BODY})}
  if ready and state.held > 0 then
    local fragments = redis.call('LRANGE', KEYS[2], 0, -1)
    if #fragments ~= state.held then return nil end
    for at = 1, #fragments do reply[at + 1] = fragments[at] end
  end
  return reply
end

-- Claiming

local function note_gaps(state)
  local gaps = {}
  for _, gap in ipairs(state.gaps) do
    if gap[2] <= state.through then gaps[#gaps + 1] = gap end
  end
  local base = state.through + 1
  for _, each in ipairs(state.intervals) do
    if each[1] <= state.limit then
      if each[1] > base then gaps[#gaps + 1] = {base, each[1] - 1} end
      base = each[2] + 1
    end
  end
  state.gaps = gaps
end

local function show(state)
  state.answered = state.held
  if state.numbered or not compares(state) then state.loose, state.log_limit = false, state.log_top end
  -- Where no number was claimed, none holds those back that came since.
  if state.numbered and state.limit < 0 then state.limit = top(state) end
  if state.limit >= top(state) and not state.loose then state.settled = state.answered end
  note_gaps(state)
end

local function claim(state, source, offset, round, by_due)
  state.due_since = complete(state) and -1 or deadline(state)
  state.status = CLAIMED
  state.home, state.claim_offset, state.claim_round = source, offset, round
  state.by_due, state.settles = by_due, by_due
  state.limit, state.log_limit = top(state), state.log_top
  state.loose, state.soft = false, false
  show(state)
  state.settled = state.answered
end

-- Closing: returns how many of the first fragments go.
local function cut(state, reached, final, leftover)
  if state.numbered then
    state.through = math.max(state.through, math.min(reached, top(state)))
    state.log_through = math.max(state.log_through, state.log_limit)
  else
    state.log_through = math.max(state.log_through, math.min(reached, state.log_top))
    state.loose = state.loose and (not compares(state) or state.log_top > state.log_through)
  end
  state.intervals = beyond(state.intervals, state.through)
  local gaps = {}
  for _, gap in ipairs(state.gaps) do
    if gap[1] <= state.through then gaps[#gaps + 1] = gap end
  end
  state.gaps = gaps
  if state.hard <= state.through then state.hard = -1 end
  if not (state.loose and state.log_hard > state.log_through) then state.log_hard = -1 end
  if not (state.numbered and state.count > state.through + 1) then state.count = -1 end
  state.final = state.final or final
  local more = state.loose or #state.intervals > 0
  local dropped = (more and not leftover) and state.settled or state.answered
  state.held, state.merged = state.held - dropped + (leftover and 1 or 0), 0
  state.claim_offset, state.claim_round, state.by_due, state.settles = -1, 0, false, false
  state.limit, state.log_limit, state.answered, state.settled = -1, -1, 0, 0
  state.status = (leftover or (more and state.held > 0)) and OPEN or CLOSED
  return dropped
end

-- Removes the first fragments of a cut state.
local function drop_fragments(state, dropped)
  if state.status == CLOSED then
    redis.call('DEL', KEYS[2])
  elseif dropped > 0 then
    redis.call('LTRIM', KEYS[2], dropped, -1)
  end
end
