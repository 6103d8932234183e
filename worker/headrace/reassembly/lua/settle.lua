-- Tidy a partition's deadlines after they were looked at, unless an append has touched an entry meanwhile.
-- KEYS: deadlines, claims. ARGV: TTL, then for each entry: member, the score that was read ("" for none),
-- its new score ("" to forget it), "1" to forget its claim.

for at = 2, #ARGV, 4 do
  local member, read, new = ARGV[at], ARGV[at + 1], ARGV[at + 2]
  local score = redis.call('ZSCORE', KEYS[1], member)
  local untouched = read == '' or (score and tonumber(score) == tonumber(read))
  if untouched and new == '' then
    redis.call('ZREM', KEYS[1], member)
  elseif untouched then
    redis.call('ZADD', KEYS[1], new, member)
  end
  if ARGV[at + 3] == '1' then redis.call('ZREM', KEYS[2], member) end
end
redis.call('EXPIRE', KEYS[1], ARGV[1])
redis.call('EXPIRE', KEYS[2], ARGV[1])
