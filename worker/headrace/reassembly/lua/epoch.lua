-- The store's memory mark and the server that holds it, in the same trip as a batch.
-- KEYS[1]: the mark. ARGV[1]: its TTL, seconds. ARGV[2]: the mark to set if there is none, "" to only look.

local mark = redis.call('GET', KEYS[1])
if mark then
  redis.call('EXPIRE', KEYS[1], ARGV[1])
elseif ARGV[2] ~= '' then
  redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[1])
  mark = ARGV[2]
end
-- A restarted or promoted server may miss acknowledged writes: its run id differs. One that evicted may have evicted
-- an open call, which then looks like one that was never seen.
local seen, info = pcall(redis.call, 'INFO', 'server')
local run = seen and string.match(info, 'run_id:(%x+)') or ''
local counted, stats = pcall(redis.call, 'INFO', 'stats')
local evicted = counted and string.match(stats, 'evicted_keys:(%d+)') or '0'
return {mark or '', run, evicted}
