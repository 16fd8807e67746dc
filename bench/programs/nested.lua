local doc = {}
for _, change in ipairs(changes) do
  local bs = doc[change.a] or {}
  doc[change.a] = bs
  local cs = bs[change.b] or {}
  bs[change.b] = cs
  cs[change.c] = (cs[change.c] or 0) + change.by
end
local count, total = 0, 0
for _, bs in pairs(doc) do
  for _, cs in pairs(bs) do
    for _, n in pairs(cs) do
      count = count + 1
      total = total + n
    end
  end
end
local b0 = (doc.a0 or {}).b0 or {}
return {count, b0.c0 or 0, total}
