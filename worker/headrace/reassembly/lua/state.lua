-- One call's state: the rules of reassembly/state.py, name by name. Whoever changes one changes the other.
--
-- KEYS[1] holds the state, a msgpack array: a tombstone is its first part, an open state has the second, a claimed
-- one the third. KEYS[2] is the list of packed fragments, gone when there are none.

local VERSION = 1
local OPEN, CLAIMED, CLOSED = 0, 1, 2
local MIXED = '*'
local UNKNOWN_RECORDS = 1048576

local TOMBSTONE = {'version', 'ident', 'status', 'numbered', 'final', 'emitted', 'through', 'log_through', 'source', 'gaps'}
local SEGMENT = {'intervals', 'hard', 'log_top', 'log_hard', 'loose', 'soft', 'count', 'last_seen', 'idle', 'grace',
  'home', 'held'}
local CLAIM = {'claim_offset', 'claim_round', 'by_due', 'settles', 'limit', 'log_limit', 'answered', 'settled'}

local function read_fields(state, names, packed, from)
  for at = 1, #names do state[names[at]] = packed[from + at] end
  return from + #names
end

local function write_fields(state, names, packed)
  local from = #packed
  for at = 1, #names do packed[from + at] = state[names[at]] end
end

local function no_segment(state)
  state.intervals, state.hard, state.log_top, state.log_hard = {}, -1, state.log_through, -1
  state.loose, state.soft, state.count = false, false, -1
  state.last_seen, state.idle, state.grace, state.home, state.held = 0, 0, 0, '', 0
end

local function no_claim(state)
  state.claim_offset, state.claim_round, state.by_due, state.settles = -1, 0, false, false
  state.limit, state.log_limit, state.answered, state.settled = -1, -1, 0, 0
end

-- The state, or nil when it is absent; a second value is the error of a key that holds another call's state.
local function load_state(ident)
  local raw = redis.call('GET', KEYS[1])
  if not raw then return nil end
  local packed = cmsgpack.unpack(raw)
  if packed[1] ~= VERSION or packed[2] ~= ident then
    return nil, redis.error_reply('FOREIGNSTATE ' .. KEYS[1])
  end
  local state = {}
  local from = read_fields(state, TOMBSTONE, packed, 0)
  no_segment(state)
  no_claim(state)
  if state.status ~= CLOSED then from = read_fields(state, SEGMENT, packed, from) end
  if state.status == CLAIMED then read_fields(state, CLAIM, packed, from) end
  return state
end

local function new_state(ident)
  local state = {version = VERSION, ident = ident, status = OPEN, numbered = false, final = false, emitted = 0,
    through = -1, log_through = -1, source = '', gaps = {}}
  no_segment(state)
  no_claim(state)
  return state
end

local function save_state(state, open_ttl, tombstone_ttl)
  local packed = {}
  write_fields(state, TOMBSTONE, packed)
  if state.status ~= CLOSED then write_fields(state, SEGMENT, packed) end
  if state.status == CLAIMED then write_fields(state, CLAIM, packed) end
  local ttl = state.status == CLOSED and tombstone_ttl or open_ttl
  redis.call('SET', KEYS[1], cmsgpack.pack(packed), 'EX', ttl)
  if state.status ~= CLOSED and state.held > 0 then redis.call('EXPIRE', KEYS[2], ttl) end
end

-- State and fragments are two keys: if a server evicted one of them, the other goes and the caller is told.
local function lost()
  redis.call('DEL', KEYS[1], KEYS[2])
  return redis.error_reply('LOSTSTATE ' .. KEYS[1])
end

-- Intervals

local function union(left, right)
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

local function complete(state)
  if state.final then return true end
  if state.numbered then
    if #state.intervals ~= 1 or state.intervals[1][1] ~= state.through + 1 then return false end
    if state.count >= 0 then return top(state) + 1 >= state.count end
    return state.hard == top(state)
  end
  return state.source ~= MIXED and state.log_top > state.log_through and state.log_hard >= state.log_top
end

local function deadline(state)
  local ending = state.soft or state.hard >= 0 or state.log_hard >= 0
  return state.last_seen + (ending and state.grace or state.idle)
end

-- Header of an answer (reply.py reads it), then the fragments when the outcome is "ready".
local function answer(state, outcome, options)
  local through, limit, reach = -1, -1, -1
  if state.numbered then
    through, limit, reach = state.through, state.limit, top(state)
  elseif state.source ~= MIXED then
    through, limit, reach = state.log_through, state.log_limit, state.log_top
  end
  local ready = outcome == 'ready'
  if not (ready and (options.again or limit < reach)) then limit = -1 end
  local reply = {cmsgpack.pack({state.ident, outcome, through, limit, state.emitted, state.final, state.numbered,
    options.late or {}, options.kept ~= false, state.status, state.home, state.claim_offset, state.claim_round,
    state.due_since or deadline(state), options.again or false})}
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
  state.loose = state.loose and not state.numbered and state.source ~= MIXED
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
    state.loose = state.loose and (state.source == MIXED or state.log_top > state.log_through)
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
  state.held = state.held - dropped + (leftover and 1 or 0)
  no_claim(state)
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
