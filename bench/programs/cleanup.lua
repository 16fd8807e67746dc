local rows, seen, hosts, length = {}, {}, 0, 0
for i, line in ipairs(contacts) do
  local name, mail = line:match("([^;]*);%s*(%S+)")
  local words = {}
  for word in name:gmatch("%S+") do words[#words + 1] = word:sub(1, 1):upper() .. word:sub(2):lower() end
  rows[i] = {table.concat(words, " "), mail:lower()}
  local host = rows[i][2]:match("@(.*)")
  if not seen[host] then
    seen[host] = true
    hosts = hosts + 1
  end
  length = length + #table.concat(rows[i], " ")
end
return {first = {rows[1], rows[2], rows[3]}, hosts = hosts, length = length}
