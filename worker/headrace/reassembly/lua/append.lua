-- Append one call's share of a batch: `State.take`.
-- ARGV[1]: the share, msgpack array. ARGV[2]: its packed fragment, absent when there is none to store.

local p = cmsgpack.unpack(ARGV[1])
local share = {ident = p[1], source = p[2], offset = p[3], first_offset = p[4], seqs = p[5], last = p[6], hard = p[7],
  soft = p[8], count = p[9], ended = p[10], last_seen = p[11], idle = p[12], grace = p[13], whole = p[14],
  open_ttl = p[15], tombstone_ttl = p[16], loose = p[17]}
local fragment = ARGV[2]
local is_body = share.last == UNIT and share.hard == UNIT

-- So many fragments of less than so many bytes are worth merging.
local MANY, SMALL = 16, 1000

local function is_news(state, through, log_through)
  if #share.seqs > 0 and share.seqs[#share.seqs][2] > through then return true end
  local loose = #share.seqs > 0 and share.loose or share.last
  if loose >= 0 then
    return (state.source ~= '' and state.source ~= share.source) or loose > log_through
  end
  if share.last == UNIT then
    return state.source ~= BODY and state.emitted == 0 and math.max(through, log_through) < 0
  end
  return state.numbered and share.count > through + 1
end

local function covers(state)
  -- Pieces around a whole body do not read its claim again, nor a body that of its stream.
  return state.claim_round == 0 and state.home == share.source and (state.source == BODY) == is_body
    and share.first_offset <= state.claim_offset and state.claim_offset <= share.offset
end

-- Note pieces without a number up to ``last``.
local function merge_log(state, last, news)
  state.loose = state.loose or news
  if last ~= UNIT and state.source ~= BODY then
    if state.source == '' then
      state.source = share.source
    elseif state.source ~= share.source then
      state.source = MIXED
    end
  end
  state.log_top = math.max(state.log_top, last)
end

local function merge(state, log_through, soft)
  if #share.seqs > 0 then
    state.numbered = true
    state.intervals = union(state.intervals, beyond(share.seqs, state.through))
    if share.hard > state.through then state.hard = math.max(state.hard, share.hard) end
    if share.loose >= 0 then merge_log(state, share.loose, is_news(state, MAX_ORDER, log_through)) end
  else
    merge_log(state, share.last, is_news(state, top(state), log_through))
    state.log_hard = math.max(state.log_hard, share.hard, share.ended and share.offset or -1)
  end
  if share.count >= 0 then state.count = share.count end
  state.soft = state.soft or ((share.soft or share.ended) and soft)
  state.last_seen = math.max(state.last_seen, share.last_seen)
  state.idle, state.grace = share.idle, share.grace
  if state.status == OPEN then state.home = share.source end
  if fragment then
    state.held = state.held + 1
    if #fragment >= SMALL then state.merged = state.held end
  end
end

local function limit_to_share(state)
  if #share.seqs > 0 then
    state.limit = math.min(state.limit, share.seqs[#share.seqs][2])
  elseif share.last >= 0 and (state.numbered or not compares(state)) then
    -- Its offsets hold nothing back here.
  elseif share.last >= 0 then
    state.log_limit = math.min(state.log_limit, share.last)
    state.loose = state.log_top > state.log_limit
  else
    state.settles = true
    if is_body then state.source = BODY end
  end
  if state.limit < top(state) or state.loose then state.settled = 0 end
  note_gaps(state)
end

-- The claim's batch may have been one whole share that was never stored. Read again in smaller batches, its first pieces
-- come, and are committed, before the piece that holds the claim.
local function leads_to_claim(state)
  return not fragment and share.last ~= UNIT and state.home == share.source and share.offset < state.claim_offset
end

local function take_claimed(state, late)
  local news = is_news(state, state.limit, state.log_limit)
  local kept = fragment ~= nil or not news
  if not covers(state) then
    if fragment then merge(state, state.log_limit, news) end
    return 'claimed', {late = late, kept = kept and not leads_to_claim(state)}
  end
  -- Holes of the claimed segment can still be filled; those of closed ones can not.
  local closed = {}
  for _, gap in ipairs(state.gaps) do
    if gap[2] <= state.through then closed[#closed + 1] = gap end
  end
  late = overlap(share.seqs, closed)
  merge(state, state.log_limit, news)
  if state.by_due then state.by_due, state.claim_offset = false, share.offset end
  show(state)
  return 'ready', {again = true, late = late, kept = kept}
end

local function take(state)
  local late = overlap(share.seqs, state.gaps)
  -- Numbers do not compare with the offsets that were emitted, nor do offsets of another partition.
  local elsewhere = #share.seqs > 0 or (state.source ~= '' and state.source ~= share.source)
  if state.final then return 'duplicate', {late = late, elsewhere = elsewhere} end
  if state.status == CLOSED or (state.status == OPEN and is_body) then
    if not is_news(state, state.through, state.log_through) then
      return 'duplicate', {late = late, elsewhere = elsewhere}
    end
    state.status = OPEN
  end
  if state.status == CLAIMED then return take_claimed(state, late) end
  merge(state, state.log_through, true)
  if not share.whole and not complete(state) then return 'open', {late = late} end
  claim(state, share.source, share.offset, 0, false)
  if share.whole then limit_to_share(state) end
  return 'ready', {late = late}
end

local state, foreign = load_state(share.ident)
if foreign then return foreign end
state = state or new_state(share.ident)
local held = state.held
local outcome, options = take(state)
if outcome ~= 'duplicate' then
  if state.held > held and redis.call('RPUSH', KEYS[2], fragment) ~= state.held then return lost() end
  save_state(state, share.open_ttl, share.tombstone_ttl)
end
if outcome == 'open' and state.held - state.merged >= MANY then options.merge_from = state.merged end
local reply = answer(state, outcome, options) or lost()
if options.merge_from then
  for _, each in ipairs(redis.call('LRANGE', KEYS[2], state.merged, -1)) do reply[#reply + 1] = each end
end
return reply
